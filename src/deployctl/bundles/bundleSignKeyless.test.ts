import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployctl, type Surroundings } from '../../../fixtures/world/ctl/deployctl.ts';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import {
  certificatePath,
  type JsonAnswer,
  logPath,
  type SigstoreServer,
  startSigstoreServer,
} from '../../../fixtures/world/servers/sigstore/sigstoreServer.ts';
import { newSigstore } from '../../../fixtures/world/signatures/keyless.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { statementOf } from '../../signatures/readSignature.ts';
import { verifySignatures } from '../../signatures/verifySignatures.ts';

const dir = tempDir();
const at = (name: string) => join(dir, name);
const [email, timestampPath] = ['release@example.com', '/api/v1/timestamp'];
const signature = at('shop.tar.gz.sigstore.json');
let server: SigstoreServer;

beforeAll(async () => {
  server = await startSigstoreServer();
  await deployctl(['bundle', 'init', at('shop'), '--env', 'eu-1']);
  await deployctl(['bundle', 'pack', at('shop'), '--out', at('shop.tar.gz')]);
  writeFileSync(at('root.json'), server.root);
  writeFileSync(at('other-root.json'), newSigstore().trustRoot());
});
beforeEach(() => {
  server.calls.splice(0);
  for (const path of [certificatePath, logPath, timestampPath]) server.answer(path, null);
});
afterAll(() => server.stop());

/** Signs with the server, and a token that is good unless another is given. */
async function sign(args: string[] = [], { env = {}, ...surroundings }: Surroundings = {}) {
  const where = ['--fulcio', server.url, '--rekor', server.url, '--force'];
  const all = { SIGSTORE_ID_TOKEN: server.tokenFor(email), ...env };
  return deployctl(['bundle', 'sign', '--yes', at('shop.tar.gz'), '--keyless', ...where, ...args], {
    ...surroundings,
    env: all,
  });
}

it.each<[string, (token: string) => { args: string[] } & Surroundings]>([
  ['a file', (token) => (writeFileSync(at('token'), `${token}\n`), { args: ['--identity-token', at('token')] })],
  ['standard input', (token) => ({ args: ['--identity-token', '-'], stdin: `${token}\n` })],
  ['the environment', (token) => ({ args: ['--keyless'], env: { SIGSTORE_ID_TOKEN: token } })],
])('signs as the holder of a token of %s, so that a host accepts it', async (_where, how) => {
  const token = server.tokenFor(email);
  const { args, ...surroundings } = how(token);
  const where = ['--fulcio', server.url, '--rekor', `${server.url}/`, '--root', at('root.json'), '--force', '--json'];
  const { exit, stdout, stderr } = await deployctl(
    ['bundle', 'sign', '--yes', at('shop.tar.gz'), ...where, ...args],
    surroundings,
  );
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  const made: unknown = JSON.parse(readFileSync(signature, 'utf8'));
  const { sha256, claim } = statementOf(made);
  const signer = `${email} (${server.issuer})`;
  expect(JSON.parse(stdout)).toEqual({ file: signature, sha256, ...claim, signer });
  const identities = [{ issuer: server.issuer, subject: email }];
  const trust = { threshold: 1, keys: [], identities, root: server.root };
  expect(verifySignatures(trust, sha256, [made])).toEqual({ verified: [{ signer, claim }], faults: [] });
});

it('gives the token to the certificate authority alone, and shows and keeps it nowhere', async () => {
  const token = server.tokenFor(email);
  const { exit, stdout, stderr } = await sign([], { env: { SIGSTORE_ID_TOKEN: token } });
  expect(exit).toBe(0);
  expect(stdout).toContain('verified  no: name the trust root of the hosts by --root');
  expect(stdout + stderr + readFileSync(signature, 'utf8')).not.toContain(token);
  const got = server.calls.map(({ path, body }) => [path, JSON.stringify(body).includes(token)]);
  expect(got).toEqual([
    [certificatePath, true],
    [logPath, false],
  ]);
});

it('signs with a key as ever where the environment has a token: nothing is sent', async () => {
  writeFileSync(at('key.pem'), newSigningKey().privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const env = { SIGSTORE_ID_TOKEN: server.tokenFor(email), XDG_CONFIG_HOME: homeWith(server.url) };
  const { exit, stdout } = await deployctl(
    ['bundle', 'sign', '--yes', at('shop.tar.gz'), '--key', at('key.pem'), '--force'],
    {
      env,
    },
  );
  expect({ exit, stdout }).toMatchObject({ exit: 0, stdout: expect.stringContaining('key SHA256:') as string });
  expect(server.calls).toEqual([]);
});

/** A home for configuration, which names an instance. */
function homeWith(url: string): string {
  const home = tempDir();
  mkdirSync(join(home, 'deployctl'));
  const sigstore = { fulcio: url, rekor: url, root: at('root.json') };
  writeFileSync(join(home, 'deployctl', 'config.yaml'), JSON.stringify({ sigstore }));
  return home;
}

it('finds the instance and its trust root in config.yaml', async () => {
  const env = { SIGSTORE_ID_TOKEN: server.tokenFor(email), XDG_CONFIG_HOME: homeWith(server.url) };
  const { exit, stdout } = await deployctl(['bundle', 'sign', '--yes', at('shop.tar.gz'), '--keyless', '--force'], {
    env,
  });
  expect({ exit, stdout }).toMatchObject({ exit: 0, stdout: expect.stringContaining(at('root.json')) as string });
});

it('trusts the authority of --ca-file and the authorities of the system, and no other', async () => {
  const ca = createCa();
  writeFileSync(at('ca.pem'), ca.pem);
  const secure = await startSigstoreServer(ca.issue(['127.0.0.1']));
  const where = ['--fulcio', secure.url, '--rekor', secure.url];
  const env = { SIGSTORE_ID_TOKEN: secure.tokenFor(email) };
  const untrusted = await sign(where, { env });
  const trusted = await sign([...where, '--ca-file', at('ca.pem')], { env });
  await secure.stop();
  expect(untrusted).toMatchObject({
    exit: 1,
    stderr: expect.stringMatching(/TLS_UNTRUSTED: .*\n.*--ca-file/) as string,
  });
  expect(trusted).toMatchObject({ exit: 0, stderr: '' });
});

const expired = /^deployctl: IDENTITY_TOKEN_UNUSABLE: the OIDC token expired at .*Z: get a new one\n$/;

it.each<[string, () => string | undefined, RegExp]>([
  ['none', () => undefined, /IDENTITY_TOKEN_MISSING: .*\n {2}→ name its file by --identity-token/],
  ['an empty one', () => '\n', /IDENTITY_TOKEN_MISSING/],
  ['one that has expired', () => server.tokenFor(email, { expiresInS: -1 }), expired],
  ['one for another audience', () => server.tokenFor(email, { audience: 'vault' }), /is for vault, not for sigstore/],
  ['a secret', () => 'dpo_secret', /UNUSABLE: the OIDC token is not an OIDC identity token \(JWT\)\n$/],
])('sends nothing with a token like %s', async (_what, token, message) => {
  const given = token();
  const { exit, stderr } = await sign([], { env: { SIGSTORE_ID_TOKEN: given ?? '' } });
  expect(exit).toBe(2);
  expect(stderr).toMatch(message);
  if (given?.trim()) expect(stderr).not.toContain(given);
  expect(server.calls).toEqual([]);
});

it.each<[string, string[], RegExp]>([
  ['a certificate authority alone', ['--fulcio', 'https://ca.example'], /SIGSTORE_INVALID: name --fulcio and --rekor/],
  ['a log alone', ['--rekor', 'https://log.example'], /SIGSTORE_INVALID/],
  ['addresses in clear', ['--fulcio', 'http://ca.example', '--rekor', 'http://log.example'], /URL_INVALID.*in clear/],
  [
    'address with a password',
    ['--fulcio', 'https://me:secret@ca.example', '--rekor', 'https://log.example'],
    /URL_INVALID: the address of Fulcio \(--fulcio\) is not an https:/,
  ],
  ['a trust root that is none', ['--root', 'key.pem'], /CONFIG_INVALID: .*key\.pem is not JSON/],
  ['a key too', ['--key', 'key.pem'], /SIGNER_INVALID: name one of --key, a command after --, and --keyless/],
])('takes no %s', async (_what, args, message) => {
  const files = args.map((arg) => (arg === 'key.pem' ? at(arg) : arg));
  const env = { SIGSTORE_ID_TOKEN: server.tokenFor(email) };
  writeFileSync(at('key.pem'), 'key');
  const { exit, stderr } = await deployctl(
    ['bundle', 'sign', '--yes', at('shop.tar.gz'), '--keyless', '--force', ...files],
    {
      env,
    },
  );
  expect(exit).toBe(2);
  expect(stderr).toMatch(message);
});

const unreachable = 'http://127.0.0.1:1';
const told = (status: number, message: string): JsonAnswer => ({ status, json: { code: 3, message } });
const chainOf = (pem: string) => ({
  status: 200,
  json: { signedCertificateEmbeddedSct: { chain: { certificates: [pem] } } },
});
const somebodys = () => {
  const spki = Buffer.from(newSigningKey().publicPem.replaceAll(/-----[^-]+-----/g, ''), 'base64');
  const der = newSigstore().certify(spki, {}).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${der}\n-----END CERTIFICATE-----\n`;
};

it.each<[string, string, JsonAnswer, number, RegExp]>([
  [
    'refuses',
    certificatePath,
    told(400, 'no such issuer'),
    1,
    /CERTIFICATE_REFUSED: http:\S+ answered 400: no such issuer\n {2}→ /,
  ],
  [
    'is overloaded',
    certificatePath,
    told(503, 'busy'),
    75,
    /UNAVAILABLE: .* answered 503: busy\n {2}→ try again later/,
  ],
  [
    'gives that of another key',
    certificatePath,
    chainOf(somebodys()),
    1,
    /SIGNATURE_INVALID: the certificate is for another key/,
  ],
  ['is a log that refuses', logPath, told(400, 'no'), 1, /LOG_REFUSED: http:\S+ answered 400: no\n/],
  [
    'is a timestamp authority that refuses',
    timestampPath,
    told(400, 'algorithm'),
    1,
    /TIMESTAMP_REFUSED: .*: algorithm\n {2}→ .*--tsa/,
  ],
])('writes nothing if the service %s, and gives the reason', async (_what, path, answer, exit, message) => {
  server.answer(path, answer);
  const out = at('none.json');
  const tsa = path === timestampPath ? ['--tsa', `${server.url}${timestampPath}`] : [];
  const outcome = await sign(['--out', out, ...tsa]);
  expect(outcome.stderr).toMatch(message);
  expect(outcome.exit).toBe(exit);
  expect(existsSync(out)).toBe(false);
});

it('names the service that cannot be reached, and says that a later try may help', async () => {
  const { exit, stderr } = await sign(['--rekor', unreachable]);
  expect(exit).toBe(75);
  expect(stderr).toContain('UNREACHABLE: http://127.0.0.1:1: connection refused');
});

it('shows no token that a service sends back, and no characters for the terminal', async () => {
  const token = server.tokenFor(email);
  server.answer(certificatePath, told(400, `no \u001b[31m${token} ${'x'.repeat(1000)}`));
  const { stderr } = await sign([], { env: { SIGSTORE_ID_TOKEN: token } });
  expect(stderr).toContain('answered 400: no \ufffd[31m[the token] xxx');
  expect(stderr.length).toBeLessThan(700);
});

it('writes nothing that hosts with the trust root would reject', async () => {
  const out = at('none.json');
  const { exit, stderr } = await sign(['--root', at('other-root.json'), '--out', out]);
  expect(exit).toBe(1);
  expect(stderr).toMatch(/SIGNATURE_INVALID: hosts would reject it: signature 1: /);
  expect(existsSync(out)).toBe(false);
});
