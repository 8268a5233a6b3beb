import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createCa, serverNames } from '../../../fixtures/world/servers/crypto/ca.ts';
import { startSecretstore } from '../../../fixtures/world/servers/secretstore/secretstore.ts';
import { tenancyMount } from '../../../fixtures/world/servers/secretstore/tenancyMount.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { captureOutput, initialize, inStore, settingsBelow } from '../../../fixtures/world/tenancy/installation.ts';
import { readKeyFile } from '../commands/storeAccess.ts';
import { createSealer, openKeyRing, publicKeyPems } from '../keys/keyRing.ts';
import { ownIdentity } from '../keys/ownAuthority.ts';
import { holdRestored } from '../backends/restore.ts';
import { createEnv } from '../store/envs.ts';
import { loadSettings } from '../config/loadSettings.ts';
import { doctor } from './doctor.ts';
import { checkClones } from './doctor.rules.ts';

let dir: string;
let config: string;
let server: Server;
let url: string;
let secretstoreUrl: string;
beforeEach(async () => {
  dir = tempDir();
  config = join(dir, 'config.yaml');
  secretstoreUrl = 'http://127.0.0.1:1';
  server = createServer((_request, response) => response.end('{"keys":[{"kid":"other"}]}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
// doctor switches to the owner of the state directory; here that is the same user with another umask.
let umask: number;
beforeEach(() => void (umask = process.umask(0o022)));
afterEach(() => {
  process.umask(umask);
  server.close();
});

function configure(...lines: string[]): void {
  const usual = [`public_url: ${url}`, `secretstore_url: ${secretstoreUrl}`, `state_dir: ${dir}`];
  writeFileSync(config, [...usual, ...lines].join('\n'), { mode: 0o640 });
}

/** Runs doctor; returns the verdict and the findings of each check by its name. */
async function examine(environment: Record<string, string> = {}) {
  const output = captureOutput();
  const options = { tokenFile: null, jwksCaFile: null, publicKeys: null, environment };
  const exit = await doctor({ configPath: config, json: true, ...options }, output);
  const { checks } = JSON.parse(output.out.join('\n')) as {
    checks: { name: string; verdict: string; findings: { what: string; fix: string }[] }[];
  };
  const told = checks.map(({ name, verdict, findings }) => [name, [verdict, ...findings.map(({ what }) => what)]]);
  const fixes = Object.fromEntries(checks.map(({ name, findings }) => [name, findings.map(({ fix }) => fix)]));
  return { exit, checks: Object.fromEntries(told) as Record<string, string[]>, fixes, text: output.out.join('\n') };
}

it('finds each fault independently', async () => {
  const key_file = join(dir, 'store.key');
  await initialize({ ...settingsBelow(dir), key_file });
  const { cert } = createCa().issue(['elsewhere.example']);
  writeFileSync(join(dir, 'cert.pem'), cert);
  writeFileSync(join(dir, 'tls.key'), createCa().issue(['elsewhere.example']).key, { mode: 0o600 });
  writeFileSync(join(dir, 'mesh'), '{"username":"u","password":"canary"}');
  chmodSync(join(dir, 'mesh'), 0o604);
  configure(
    `tls: { certificate_file: ${dir}/cert.pem, key_file: ${dir}/tls.key }`,
    `mesh: { controller_url: https://127.0.0.1:1, credentials_file: ${dir}/mesh }`,
    `s3: { url: http://127.0.0.1:1, bucket: b, credentials_file: ${dir}/nothing }`,
  );
  const { exit, checks, text } = await examine({ BAO_TOKEN: 'canary' });
  expect(exit).toBe(1);
  expect(checks).toMatchObject({
    config: ['well'],
    'state directory': ['well'],
    files: ['wrong', `${dir}/nothing does not exist`, expect.stringContaining('mesh has mode 0604')],
    'set-up': ['wrong', expect.stringMatching(/^secretstore: read of sys\/mounts: ECONNREFUSED/)],
    store: ['well'],
    hosts: ['well'],
    keys: ['well'],
    public_url: ['wrong', expect.stringContaining('does not publish the signing key')],
    certificate: ['wrong', expect.stringContaining('tls.key: ')],
    secretstore: ['wrong', expect.stringContaining('ECONNREFUSED')],
    clock: ['unseen'],
    bundles: ['wrong', expect.stringContaining('nothing: does not exist')],
    mesh: ['wrong', expect.stringMatching(/^mesh controller: /)],
  });
  expect(text).not.toContain('canary');
});

it('finds a policy of the service that an earlier version has written', async () => {
  const settings = { ...settingsBelow(dir), key_file: join(dir, 'store.key') };
  await initialize(settings);
  const keys = await inStore(settings, (store) => openKeyRing(store, readKeyFile(settings.key_file)));
  const [key] = publicKeyPems(keys).map((pem) => createPublicKey(pem));
  const ca = createCa();
  const secretstore = await startSecretstore({ certificate: ca.issue(serverNames), tenancyKey: key!, issuer: url });
  Object.assign(secretstore.mount, tenancyMount({ keys: [key!], issuer: url }));
  writeFileSync(join(dir, 'ca.pem'), ca.pem);
  secretstoreUrl = secretstore.url;
  configure(`secretstore_ca: ${dir}/ca.pem`);
  secretstore.answerNext('secret', { status: 403, body: { errors: ['permission denied'] } });
  const outdated = await examine();
  const current = await examine();
  await secretstore.stop();
  expect(outdated.checks['secretstore']).toEqual(['wrong', expect.stringContaining('lacks the capability `patch`')]);
  expect(current.checks['secretstore']).toEqual(['well']);
});

it('finds a backend whose token two hosts use', () => {
  const backend = { id: 'b-1', env: 'eu-1', site: 'fra' };
  const { status, findings } = checkClones({ known: [backend] });
  expect([status, findings]).toMatchObject(['failed', [{ fix: 'deployctl host accept b-1' }]]);
  expect(checkClones({ known: [] }).status).toBe('passed');
});

it('names environments that a restore holds', async () => {
  const settings = { ...settingsBelow(dir), key_file: join(dir, 'store.key') };
  await initialize(settings);
  configure();
  await inStore(settings, (store) => createEnv(store, 'eu-1', false));
  expect((await examine()).checks['restore']).toEqual(['well']);
  await inStore(settings, (store) => store.transaction().execute((work) => holdRestored(work, Date.now())));
  const { checks, fixes } = await examine();
  expect(checks['restore']).toEqual(['wrong', expect.stringMatching(/^hosts of eu-1 get no orders since/)]);
  expect(fixes['restore']).toEqual([expect.stringContaining('deployctl restore review eu-1')]);
});

it('finds an OpenID provider that does not answer', async () => {
  url = 'https://127.0.0.1:1';
  writeFileSync(join(dir, 'oidc.secret'), 'canary', { mode: 0o640 });
  configure(
    `oidc: { issuer_url: 'https://127.0.0.1:1/', client_id: a, client_secret_file: ${dir}/oidc.secret, roles: [{ group: g, role: viewer }] }`,
  );
  const { checks, text } = await examine();
  expect(checks['sign-in']).toEqual(['wrong', 'identity provider: ECONNREFUSED']);
  expect(text).toContain('curl -v https://127.0.0.1:1/.well-known/openid-configuration');
  expect(text).not.toContain('canary');
});

it('reports which checks an invalid configuration prevents', async () => {
  configure('lisen: 1');
  const { exit, checks } = await examine();
  expect(exit).toBe(1);
  expect(checks).toEqual({
    config: ['wrong', expect.stringContaining('lisen: unknown key')],
    service: ['unseen'],
  });
});

it('suggests the first step before the first start, which cures it, and creates only the directory of bundles', async () => {
  const key_file = join(dir, 'store.key');
  configure(`key_file: ${key_file}`);
  const { checks, fixes } = await examine();
  expect(fixes).toMatchObject({ store: ['sudo deployd-tenancy init'], keys: ['sudo deployd-tenancy init'] });
  expect(checks).toMatchObject({
    store: ['wrong', expect.stringContaining('run sudo deployd-tenancy init')],
    keys: ['wrong', expect.anything()],
    'set-up': ['not applicable'],
    mesh: ['not applicable'],
    'sign-in': ['not applicable'],
    certificate: ['not applicable'],
  });
  expect(readdirSync(dir).filter((name) => name !== 'config.yaml')).toEqual(['bundles']);
  await initialize({ ...settingsBelow(dir), key_file });
  expect((await examine()).checks).toMatchObject({ store: ['well'], keys: ['well'] });
});

it.each([
  [600, 'behind'],
  [-600, 'ahead of'],
])('reports a wrong clock when the secretstore is %i s ahead', async (seconds, words) => {
  secretstoreUrl = url;
  server.prependListener('request', (_request, response: ServerResponse) =>
    response.setHeader('date', dateIn(seconds)),
  );
  configure();
  const { checks } = await examine();
  expect(checks['clock']).toEqual([
    'wrong',
    expect.stringMatching(`^the clock is (599|600|601) s ${words} the services$`),
  ]);
});

const dateIn = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();

it('examines the certificate of the service’s own authority, and creates none', async () => {
  await initialize({ ...settingsBelow(dir), key_file: join(dir, 'store.key') });
  configure('tls: { own_authority: true }');
  const missing = await examine();
  expect(missing.checks['certificate']).toEqual(['wrong', 'the service has not made its certificate yet: start it']);
  const sealer = createSealer(readKeyFile(join(dir, 'store.key')));
  const about = { sealer, host: '127.0.0.1', now: Date.now() };
  await inStore(settingsBelow(dir), (store) => ownIdentity({ store, ...about }));
  expect((await examine()).checks['certificate']).toEqual(['well']);
  await inStore(settingsBelow(dir), (store) => ownIdentity({ store, ...about, host: 'elsewhere.example' }));
  expect((await examine()).checks['certificate']).toEqual([
    'wrong',
    expect.stringContaining('it is not for 127.0.0.1'),
  ]);
});

it('needs no administrator’s token for the embedded secretstore, and suggests a look at the service', async () => {
  configure('secretstore: { listen: 127.0.0.1:1 }');
  const { checks, fixes } = await examine({ BAO_TOKEN: 'canary' });
  expect(checks).toMatchObject({ 'set-up': ['not applicable'], secretstore: ['unseen'] });
  await initialize(loadSettings(config));
  expect((await examine()).fixes).toMatchObject({ secretstore: ['systemctl status deployd-tenancy'] });
  expect(fixes['set-up']).toEqual([]);
});
