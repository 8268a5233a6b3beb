import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentOf, signSimply, simplePayload, storeSimply } from '../../../../fixtures/signatures/signImage.ts';
import { key } from '../../../../fixtures/signatures/trusted.ts';
import { createCa } from '../../../../fixtures/servers/crypto/ca.ts';
import { startImageRegistry, type ImageRegistry } from '../../../../fixtures/servers/registry/imageRegistry.ts';
import { tempDir } from '../../../../fixtures/tempDir.ts';
import type { Bundle } from '../../../../machines/types.ts';
import { createRegistries } from '../../adapters/http/registries.ts';
import { openReleases } from '../../adapters/release/releases.ts';
import type { Settings } from '../../config/settings.ts';
import type { ServiceFingerprint } from '../../rules/release/oneShots.ts';
import type { Decision } from '../../rules/trace/trace.ts';
import { Vault } from '../../secrets/vault.ts';
import type { Dependencies } from '../dependencies.ts';
import { verifyImages } from './verifyImages.ts';

const sha = 'a'.repeat(64);
const ca = createCa();
const image = contentOf('application/vnd.oci.image.manifest.v1+json', { schemaVersion: 2 });
const { digest } = image;
const signers = [`key SHA256:${key.hint.replace('=', '')}`];
const definition = (reference: string): ServiceFingerprint => ({
  fingerprint: 'f',
  image: reference,
  pullPolicy: null,
  volumes: [],
});
const never = new AbortController().signal;

let registry: ImageRegistry;
let dir: string;
let decisions: Decision[];
beforeEach(async () => {
  registry = await startImageRegistry({ certificate: ca.issue(['127.0.0.1']) });
  registry.addManifest('shop/web', '1', image);
  dir = tempDir();
  decisions = [];
  await writeFile(join(dir, 'release.pub'), key.publicPem);
});
afterEach(() => registry.stop());

/** Dependencies of an apply that has rendered these services of a bundle in staging. */
async function rendered(written: Record<string, string>, services: Record<string, string>, isTrusting = true) {
  const releases = await openReleases(join(dir, 'state'), 'eu-1');
  const staging = releases.stagingOf(sha);
  await mkdir(staging);
  const compose = {
    services: Object.fromEntries(Object.entries(written).map(([name, text]) => [name, { image: text }])),
  };
  await writeFile(join(staging, 'compose.yaml'), JSON.stringify(compose));
  const images = isTrusting ? { keys: [join(dir, 'release.pub')] } : null;
  const settings = { trust: { images }, connect_timeout_s: 5, http_timeout_s: 5, pull_timeout_s: 60 } as Settings;
  const definitions = Object.entries(services).map(([name, reference]) => [name, definition(reference)] as const);
  const deps = {
    ...{ releases, settings, vault: new Vault(() => undefined) },
    registries: createRegistries({ settings, roots: { all: () => ({ path: 'ca', pem: ca.pem }) }, version: '1' }),
    recordDecision: (decision: Decision) => void decisions.push(decision),
    tick: { images: [], serviceDefinitions: { sha, services: new Map(definitions) } },
  } as unknown as Dependencies;
  const manifest = { compose: ['compose.yaml'], profiles: [], registries: [] };
  const verify = () => verifyImages(deps, { bundle: { sha, dir: staging, manifest } as unknown as Bundle }, never);
  return { deps, verify, staging };
}

it('names each image by its digest, asks once for the same one, and tells who signed', async () => {
  storeSimply(registry, 'shop/web', digest, [signSimply(simplePayload(digest), key)]);
  const reference = `${registry.host}/shop/web:1`;
  const pinned = `${registry.host}/shop/web@${digest}`;
  const { deps, verify } = await rendered(
    { web: `\${REGISTRY}/shop/web:1`, api: reference, db: pinned, off: 'x' },
    { web: reference, api: reference, db: pinned },
  );
  await verify();
  expect(deps.tick.images).toEqual([
    { service: 'web', image: `\${REGISTRY}/shop/web:1@${digest}`, digest, signers },
    { service: 'api', image: `${reference}@${digest}`, digest, signers },
    { service: 'db', image: pinned, digest, signers },
  ]);
  const named = [...(deps.tick.serviceDefinitions?.services ?? [])].map(([service, each]) => [service, each.image]);
  expect(named).toEqual([
    ['web', `${reference}@${digest}`],
    ['api', `${reference}@${digest}`],
    ['db', pinned],
  ]);
  expect(decisions).toContainEqual({ word: 'image-signed', service: 'api', digest, signers });
  expect(registry.requests.filter(({ path }) => path.endsWith('/manifests/1'))).toHaveLength(1);
});

it('refuses all that is not signed, by service and image, and clears staging', async () => {
  const reference = `${registry.host}/shop/web:1`;
  const { deps, verify, staging } = await rendered({ web: reference }, { web: reference, api: '' });
  const missing = 'there is no signature, and a signature by one of trust.images must be';
  const unnamed = 'it has no name: only an image in a registry can be signed';
  await expect(verify()).rejects.toMatchObject({
    ending: 'refused',
    message: `refused: SIGNATURE_REFUSED: image ${reference} of web: ${missing}; the image of api: ${unnamed}`,
  });
  expect(deps.tick.images).toEqual([]);
  expect(existsSync(staging)).toBe(false);
});

it('takes a registry that does not answer for a failed pull, and tells no secret of a reference', async () => {
  const reference = `${registry.host}/shop/web:hunter2-hunter2`;
  const { deps, verify, staging } = await rendered({ web: reference }, { web: reference });
  deps.vault.registerForRedaction('hunter2-hunter2');
  await expect(verify()).rejects.toMatchObject({
    ...{ ending: 'failed', code: 'PULL_FAILED' },
    message: `PULL_FAILED: the image of web cannot be verified: ${registry.host} answers 404`,
  });
  expect(existsSync(staging)).toBe(false);
});

it('does not tell the name of a registry that is a secret', async () => {
  const reference = 'Hunter2-Hunter2.localhost:1/shop/web:1';
  const { deps, verify } = await rendered({ web: '${HOST}/shop/web:1' }, { web: reference });
  deps.vault.registerForRedaction('Hunter2-Hunter2');
  await expect(verify()).rejects.toThrow(
    /^PULL_FAILED: the image of web cannot be verified: its registry cannot be asked$/,
  );
});

it('refuses a service whose image the files of the bundle do not name', async () => {
  storeSimply(registry, 'shop/web', digest, [signSimply(simplePayload(digest), key)]);
  const { verify } = await rendered({}, { web: `${registry.host}/shop/web:1` });
  await expect(verify()).rejects.toThrow('service web: its image is not written in the bundle');
});

it('asks nobody without trust.images', async () => {
  const reference = `${registry.host}/shop/web:1`;
  const { deps, verify } = await rendered({ web: reference }, { web: reference }, false);
  await verify();
  expect(registry.requests).toEqual([]);
  expect(deps.tick.serviceDefinitions?.services.get('web')?.image).toBe(reference);
});
