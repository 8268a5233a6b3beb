import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployctl, type Surroundings } from '../../../fixtures/world/ctl/deployctl.ts';
import { signingKeyOf } from '../../../fixtures/world/signatures/signBundle.ts';
import { createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { statementOf } from '../../signatures/readSignature.ts';
import { verifySignatures } from '../../signatures/verifySignatures.ts';

let dir: string;
const at = (name: string) => join(dir, name);
const password = 'not in any output';
const { privateKey, publicPem, hint } = signingKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
const other = signingKeyOf(generateKeyPairSync('ed25519').privateKey);
const signer = `key SHA256:${hint.replace('=', '')}`;
const lock = { cipher: 'aes-256-cbc', passphrase: password };

beforeEach(async () => {
  dir = tempDir();
  await done(['bundle', 'init', at('shop'), '--env', 'eu-1']);
  await done(['bundle', 'pack', at('shop'), '--out', at('shop.tar.gz')]);
  writeFileSync(at('key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(at('locked.pem'), privateKey.export({ type: 'pkcs8', format: 'pem', ...lock }));
  writeFileSync(at('key.pub'), publicPem);
  writeFileSync(at('other.pub'), other.publicPem);
});

async function done(args: string[], surroundings?: Surroundings): Promise<string> {
  const outcome = await deployctl(args, surroundings);
  expect(outcome).toMatchObject({ exit: 0 });
  return outcome.stdout;
}

const sign = (args: string[], surroundings?: Surroundings) =>
  deployctl(['bundle', 'sign', at('shop.tar.gz'), '--yes', ...args], surroundings);
const readJson = (name: string): unknown => JSON.parse(readFileSync(at(name), 'utf8'));

it('signs the content of the manifest so that a host accepts it, and prints it', async () => {
  const { exit, stdout, stderr } = await sign(['--key', at('key.pem'), '--json']);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  const signature = readJson('shop.tar.gz.sigstore.json');
  const { sha256, claim } = statementOf(signature);
  expect(JSON.parse(stdout)).toEqual({ file: at('shop.tar.gz.sigstore.json'), sha256, ...claim, signer });
  expect(claim).toEqual({ name: 'shop', env: 'eu-1', version: '1', sequence: 1 });
  const trust = { threshold: 1, keys: [publicPem], identities: [], root: null };
  expect(verifySignatures(trust, sha256, [signature])).toEqual({ verified: [{ signer, claim }], faults: [] });
});

it('overwrites a signature only on request, and leaves nothing beside it', async () => {
  await done(['bundle', 'sign', at('shop.tar.gz'), '--yes', '--key', at('key.pem'), '--out', at('one.json')]);
  const first = readFileSync(at('one.json'), 'utf8');
  const again = await sign(['--key', at('key.pem'), '--out', at('one.json')]);
  expect(again).toMatchObject({ exit: 2, stderr: expect.stringContaining('FILE_EXISTS') as string });
  expect(readFileSync(at('one.json'), 'utf8')).toBe(first);
  expect(await sign(['--key', at('key.pem'), '--out', at('one.json'), '--force'])).toMatchObject({ exit: 0 });
  expect(readFileSync(at('one.json'), 'utf8')).not.toBe(first);
  expect(readdirSync(dir).filter((name) => name.includes('json'))).toEqual(['one.json']);
});

it.each<[string, () => { args?: string[] } & Surroundings]>([
  ['its file', () => ({ args: ['--password-file', at('password')] })],
  ['the environment', () => ({ env: { DEPLOYCTL_KEY_PASSWORD: password } })],
  ['the terminal', () => ({ terminal: 80, stdin: `${password}\r` })],
])('takes the password of a key from %s', async (_where, how) => {
  writeFileSync(at('password'), `${password}\n`);
  const { args = [], ...surroundings } = how();
  const { exit, stdout, stderr } = await sign(['--key', at('locked.pem'), ...args], surroundings);
  expect({ exit, stdout }).toMatchObject({ exit: 0, stdout: expect.stringContaining(signer) as string });
  expect(stdout + stderr).not.toContain(password);
});

it('reports a missing or wrong password without showing it', async () => {
  const missing = await sign(['--key', at('locked.pem')]);
  expect(missing).toMatchObject({ exit: 2, stderr: expect.stringContaining('PASSWORD_MISSING') as string });
  const env = { DEPLOYCTL_KEY_PASSWORD: 'guessed' };
  const { exit, stderr } = await sign(['--key', at('locked.pem')], { env });
  expect(exit).toBe(2);
  expect(stderr).toBe(
    `deployctl: KEY_UNUSABLE: ${at('locked.pem')} cannot be decrypted: the password is wrong, or the key is damaged\n`,
  );
});

it.each([
  ['bytes', 'openssl dgst -sha256 -sign "$1"'],
  ['base64', 'openssl dgst -sha256 -sign "$1" | base64'],
])('signs by a command that writes %s', async (_form, script) => {
  const command = ['--public-key', at('key.pub'), '--', 'sh', '-c', script, 'sh', at('key.pem')];
  expect(await sign(command)).toMatchObject({ exit: 0, stdout: expect.stringContaining(signer) as string });
  expect(existsSync(at('shop.tar.gz.sigstore.json'))).toBe(true);
});

it.each<[string, string[], string]>([
  [
    'a signature by another key',
    ['--public-key', 'other.pub', '--', 'sh', '-c', 'openssl dgst -sha256 -sign "$0"', 'key.pem'],
    'SIGNATURE_INVALID',
  ],
  ['something else', ['--public-key', 'key.pub', '--', 'echo', 'signed'], 'SIGNATURE_INVALID'],
  ['a failure', ['--public-key', 'key.pub', '--', 'false'], 'COMMAND_FAILED'],
  ['a public key that is none', ['--public-key', 'key.pem', '--', 'true'], 'SIGNATURE_INVALID'],
  ['no public key', ['--', 'true'], 'SIGNER_INVALID'],
  ['neither key nor command', [], 'SIGNER_INVALID'],
  ['both', ['--key', 'key.pem', '--public-key', 'key.pub', '--', 'true'], 'SIGNER_INVALID'],
  ['a key that is missing', ['--key', 'none.pem'], 'FILE_UNREADABLE'],
  ['a public key as the key', ['--key', 'key.pub'], 'KEY_UNUSABLE'],
])('writes no signature for %s', async (_what, args, code) => {
  const files = args.map((arg) => (/\.(pem|pub)$/.test(arg) ? at(arg) : arg));
  const { exit, stderr } = await sign(files);
  expect(exit).not.toBe(0);
  expect(stderr).toContain(`deployctl: ${code}: `);
  expect(readdirSync(dir).filter((name) => name.includes('json'))).toEqual([]);
});

it('signs an archive that a host can read, and nothing else', async () => {
  const directory = await deployctl(['bundle', 'sign', at('shop'), '--key', at('key.pem')]);
  expect(directory).toMatchObject({ exit: 2, stderr: expect.stringContaining('`deployctl bundle pack`') as string });
  writeFileSync(at('text.tar.gz'), 'text');
  const text = await deployctl(['bundle', 'sign', at('text.tar.gz'), '--key', at('key.pem')]);
  expect(text).toMatchObject({ exit: 1, stderr: expect.stringContaining('BUNDLE_UNSAFE') as string });
  const none = await deployctl(['bundle', 'sign', at('none.tar.gz'), '--key', at('key.pem')]);
  expect(none).toMatchObject({ exit: 1, stderr: expect.stringContaining('FILE_UNREADABLE') as string });
});

describe('the question before a signature', () => {
  const ask = (args: string[], surroundings: Surroundings) =>
    deployctl(['bundle', 'sign', at('shop.tar.gz'), '--key', at('key.pem'), ...args], surroundings);
  const signed = () => existsSync(at('shop.tar.gz.sigstore.json'));

  it.each([
    ['y\r', true],
    ['YES\r', true],
    ['n\r', false],
    ['\r', false],
    ['', false],
  ])('is answered with %j on the terminal: signed %s', async (stdin, isSigned) => {
    const { exit, stderr } = await ask([], { terminal: 80, stdin });
    expect({ exit, signed: signed() }).toEqual({ exit: isSigned ? 0 : 1, signed: isSigned });
    expect(stderr).toContain('sign it? [y/N]');
    if (!isSigned) expect(stderr).toContain('NOT_CONFIRMED: nothing was signed');
  });

  it('is followed by the question for the password of the key', async () => {
    const args = ['bundle', 'sign', at('shop.tar.gz'), '--key', at('locked.pem')];
    expect(await deployctl(args, { terminal: 80, stdin: `y\r${password}\r` })).toMatchObject({ exit: 0 });
  });

  it('needs --yes without a terminal', async () => {
    const { exit, stderr } = await ask([], {});
    expect({ exit, signed: signed() }).toEqual({ exit: 2, signed: false });
    expect(stderr).toMatch(/CONFIRMATION_MISSING: .*\n {2}→ add --yes/);
  });

  it('shows images, flags, variables, secrets, privileges, and the differences from the previous bundle', async () => {
    const compose = (image: string) =>
      `services: {web: {image: ${image}, cap_add: [NET_ADMIN], environment: {A: "$S"}}, db: {image: "db:$TAG"}}`;
    const digest = `@sha256:${'a'.repeat(64)}`;
    const manifest = {
      ...{ variables: { TAG: '1.2' }, agent: { allow_privileged: true } },
      secrets: [{ var: 'S', path: 'deployd/data/eu-1/see/s', field: 'f' }],
    };
    const write = (name: string, image: string, more = {}) =>
      writeFileSync(at(name), createBundle({ compose: compose(image), manifest: { ...manifest, ...more } }).bytes);
    write('one.tar.gz', `web${digest}`);
    write('two.tar.gz', 'web:2', { variables: { TAG: '1.3' } });
    const args = ['bundle', 'sign', at('two.tar.gz'), '--key', at('key.pem'), '--yes'];
    const { stdout } = await deployctl([...args, '--previous', at('one.tar.gz')]);
    for (const shown of [
      'web:2 (no digest: its tag can move)',
      'db:1.3 (no digest',
      /flags +agent\.allow_privileged\n/,
      /variables +TAG=1\.3\n/,
      /secrets +S from deployd\/data\/eu-1\/see\/s field f/,
      /privileges +.*NET_ADMIN/,
      `- web${digest}`,
      /TAG.*1\.2.*1\.3/,
    ])
      expect(stdout).toMatch(shown);
  });

  it('is not asked about a bundle in which a secret decides what runs', async () => {
    const secrets = [{ var: 'IMG', path: 'deployd/data/eu-1/see/s', field: 'f' }];
    const { bytes } = createBundle({ compose: 'services: {web: {image: "$IMG"}}', manifest: { secrets } });
    writeFileSync(at('shop.tar.gz'), bytes);
    expect(await ask(['--yes'], {})).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('image is decided by the secret IMG, which nobody signs') as string,
    });
  });
});
