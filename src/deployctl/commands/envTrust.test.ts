import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

let at: ServiceWithOperators;
beforeAll(async () => {
  at = await startWithOperators();
  await at.admin.run('env create eu-1');
});
afterAll(() => at.stop());

const dir = tempDir();
const file = join(dir, 'trust.yaml');
const key = newSigningKey();
const root = { mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1', tlogs: [] };
beforeAll(async () => {
  await mkdir(join(dir, 'keys'));
  const privatePem = key.privateKey.export({ type: 'pkcs8', format: 'pem' });
  await writeFile(join(dir, 'keys', 'release.pub'), `${key.publicPem}${privatePem}`);
  await writeFile(join(dir, 'root.json'), JSON.stringify(root));
});

it("sends the trust of a host's config.yaml to the service, with the public keys and the root in its files", async () => {
  const identity = { issuer: 'https://id.example', subject: 'release@example' };
  await writeFile(
    file,
    `trust:
  bundles:
    threshold: 2
    keys: [keys/release.pub]
    identities: [{issuer: '${identity.issuer}', subject: '${identity.subject}'}]
    root: ${join(dir, 'root.json')}
policy: {permit: {binds: [/srv/**]}}
apply: {windows: [{days: [mon], start: '08:30', minutes: 60, time_zone: UTC}]}
`,
  );
  const settings = { policy: { permit: { binds: ['/srv/**'] } }, windows: ['mon from 08:30 for 60 minutes, UTC'] };
  const trust = { threshold: 2, keys: [key.publicPem], identities: [identity], root, ...settings };
  expect(await at.admin.json(['env', 'trust', 'eu-1', file])).toMatchObject({ name: 'eu-1', trust });
  const { stdout: told } = await at.admin.run(['env', 'trust', 'eu-1', file]);
  expect(told).toMatch(/\nkey SHA256:[\w+/]{43}\n.*\(.*\)\ntrust root sha256 [0-9a-f]{64}\n$/);
  const { stdout } = await at.viewer.run('env show eu-1');
  expect(stdout).toContain('trust       2 signatures required, from 2 trusted signers\n');
  expect(stdout).toContain('compared    signers, policy, maintenance windows\n');
  expect(await at.admin.json('env trust eu-1 --clear')).toMatchObject({ trust: null });
});

it.each([
  ['neither a file nor --clear', null, 'TRUST_INVALID'],
  ['another key', 'site: berlin\n', 'CONFIG_INVALID: .*trust.yaml:1: '],
  ['no trust', 'trust: {bundles: null}\n', 'CONFIG_INVALID: .*trust.bundles'],
  ['nobody', 'trust: {bundles: {}}\n', 'CONFIG_INVALID: .*must name keys or identities'],
  [
    'a threshold beyond its keys',
    'trust: {bundles: {threshold: 2, keys: [keys/release.pub]}}\n',
    'CONFIG_INVALID: .*can be met',
  ],
  ['a missing key', 'trust: {bundles: {keys: [absent.pub]}}\n', 'CONFIG_INVALID: .*absent.pub is missing'],
  ['a key that is none', 'trust: {bundles: {keys: [root.json]}}\n', 'CONFIG_INVALID: .*root.json is not a public key'],
])('%s is wrong usage', async (_, text, error) => {
  if (text !== null) await writeFile(file, text);
  const outcome = await at.admin.run(['env', 'trust', 'eu-1', ...(text === null ? [] : [file])]);
  expect(outcome).toMatchObject({ exit: 2, stdout: '', stderr: expect.stringMatching(error) as string });
});

it('is for administrators', async () => {
  expect(await at.deployer.run('env trust eu-1 --clear')).toMatchObject({ exit: 77 });
});
