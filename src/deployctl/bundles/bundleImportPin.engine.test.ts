import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { sharedEngine } from '../../../fixtures/world/harness.ts';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { type ImageRegistry, startImageRegistry } from '../../../fixtures/world/servers/registry/imageRegistry.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { oneShotImage } from '../../../fixtures/world/images.ts';

let registry: ImageRegistry;
let dir: string;
let digest: string;
beforeEach(async () => {
  dir = tempDir();
  registry = await startImageRegistry({ certificate: createCa().issue(['127.0.0.1']) });
  ({ digest } = registry.addImage('shop/web', '1', oneShotImage()));
});
afterEach(() => registry.stop());

async function pin(services: object, login?: { user: string; password: string }) {
  const auth = login && Buffer.from(`${login.user}:${login.password}`).toString('base64');
  writeFileSync(join(dir, 'config.json'), JSON.stringify({ auths: auth ? { [registry.host]: { auth } } : {} }));
  mkdirSync(join(dir, 'shop'));
  writeFileSync(join(dir, 'shop', 'compose.yaml'), JSON.stringify({ services }));
  writeFileSync(join(dir, 'shop', '.env'), 'TAG=1\n');
  const out = join(dir, 'out');
  const { compose } = sharedEngine();
  const args = ['bundle', 'import', join(dir, 'shop'), '--env', 'eu-1', '--out', out, '--pin', '--compose', compose];
  const outcome = await deployctl(args, { env: { DOCKER_CONFIG: dir } });
  const written = parse(readFileSync(join(out, 'compose.yaml'), 'utf8')) as {
    services: Record<string, { image: string }>;
  };
  return {
    ...outcome,
    images: Object.fromEntries(Object.entries(written.services).map(([name, { image }]) => [name, image])),
  };
}

it('writes the digest of today beside each tag, once for all services that have the image', async () => {
  const image = `${registry.host}/shop/web:1`;
  const pinnedAlready = `${registry.host}/other@sha256:${'a'.repeat(64)}`;
  const services = { a: { image }, b: { image: `${registry.host}/shop/web:\${TAG}` }, c: { image: pinnedAlready } };
  const { exit, stdout, images } = await pin(services);
  expect(images).toEqual({ a: `${image}@${digest}`, b: `${image}@${digest}`, c: pinnedAlready });
  expect(registry.requests.filter(({ resource }) => resource === 'manifest')).toHaveLength(1);
  expect(stdout).toContain('that is its digest now');
  expect(exit).toBe(0);
});

it('asks with the login of `docker login`, and prints it nowhere', async () => {
  const login = { user: 'ann', password: 'hunter2' };
  registry.requireLogin(login);
  const { exit, stdout, stderr, images } = await pin({ a: { image: `${registry.host}/shop/web:1` } }, login);
  expect([exit, images['a']]).toEqual([0, `${registry.host}/shop/web:1@${digest}`]);
  expect(stdout + stderr).not.toContain('hunter2');
});

it('leaves an image open if no registry returns its digest, and still makes the bundle', async () => {
  registry.requireLogin({ user: 'ann', password: 'x' });
  const services = { a: { image: `${registry.host}/shop/web:1` }, b: { image: '127.0.0.1:1/none:1' } };
  const { exit, stdout, images } = await pin(services);
  expect(exit).toBe(1);
  expect(images).toEqual({ a: services.a.image, b: services.b.image });
  expect(stdout).toContain(`it is not pinned: ${registry.host} requires a login, and none is configured for it`);
  expect(stdout).toContain('it is not pinned: 127.0.0.1:1 cannot be reached (ECONNREFUSED)');
});
