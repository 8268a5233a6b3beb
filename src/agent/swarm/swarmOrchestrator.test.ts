import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { RegistryError } from '../../registry/repository.ts';
import { pinImages } from './swarmOrchestrator.ts';
import type { SwarmDependencies } from './waitUntilHealthy.ts';

const body = Buffer.from('{}');
const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`;
const signal = new AbortController().signal;

/** Asks a registry that takes its time for the images of services; 404 for `missing`. */
async function pin(images: readonly string[], missing = '') {
  const [asked, digests] = [new Array<string>(), new Map<string, string>()];
  let [now, most, isClosed] = [0, 0, false];
  const access = {
    loginOf: () => null,
    get: async ({ pathname }: URL) => {
      if (isClosed) throw new RegistryError('closed');
      asked.push(pathname);
      most = Math.max(most, ++now);
      await setTimeout(20);
      now--;
      const status = missing !== '' && pathname.includes(missing) ? 404 : 200;
      return { status, headers: { 'docker-content-digest': digest }, body };
    },
    close: () => void (isClosed = true),
  };
  const vault = {
    ...{ reveal: (text: string) => text, isSecretFree: () => true },
    ...{ noteUntrackedSecrets: () => undefined },
  };
  const context = { deps: { vault, registries: { open: () => access } }, digests } as unknown as SwarmDependencies;
  const services = new Map(images.map((image, index) => [`s${index}`, { image }]));
  const input = { bundle: { manifest: { registries: [] } }, release: { services } };
  const error = await pinImages(context, input as unknown as Parameters<typeof pinImages>[1], signal).catch(
    (each: unknown) => (each as Error).message,
  );
  return { asked, digests, most, error, isClosed };
}

const images = Array.from({ length: 30 }, (_, index) => `r.example/app${index}:1`);

it('asks registries for the digests of several images at once, but not of all, and for each image once', async () => {
  const { asked, digests, most } = await pin([...images, ...images]);
  expect(most).toBe(8);
  expect(asked).toHaveLength(images.length);
  expect(digests).toEqual(new Map(images.map((image) => [image, digest])));
});

it('names the service whose image has no digest, and asks for no more', async () => {
  const { asked, error, isClosed } = await pin(images, 'app3/');
  expect(error).toMatch(/the image of s3 has no digest: /);
  expect(isClosed).toBe(true);
  await setTimeout(100);
  expect(asked.length).toBeLessThan(images.length);
});
