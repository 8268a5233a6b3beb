import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSigstore } from '../../fixtures/world/signatures/keyless.ts';
import { newSigningKey, signingKeyOf } from '../../fixtures/world/signatures/signBundle.ts';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { readTrust } from './signatureFiles.ts';

const key = newSigningKey();
let dir: string;
beforeEach(() => void (dir = tempDir()));

function write(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

it('reads keys and root, with a threshold of 1', () => {
  const root = newSigstore().trustRoot();
  const identities = [{ issuer: 'https://id.example', subject: 'a@b.example' }];
  const read = readTrust({ keys: [write('a.pub', key.publicPem)], identities, root: write('root.json', root) });
  expect(read).toEqual({ trust: { threshold: 1, keys: [key.publicPem], identities, root }, problems: [] });
});

it.each([
  ['a certificate', '-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n', 'is not a public key in PEM'],
  ['a private key', key.privateKey.export({ type: 'pkcs8', format: 'pem' }), 'is not a public key in PEM'],
  ['two keys', key.publicPem + newSigningKey().publicPem, 'contains more than one public key'],
  ['a damaged key', key.publicPem.replace('MF', 'AA'), 'is a damaged public key'],
  ['a short RSA key', rsaKey(1024), 'is an RSA key of less than 2048 bits'],
  ['a key of another kind', otherKey(), 'is a key of the kind x25519; ECDSA, Ed25519 and RSA can be verified'],
])('leaves %s out, and says why', (_kind, text, problem) => {
  const path = write('a.pub', text);
  const { trust, problems } = readTrust({ threshold: 2, keys: [path, write('b.pub', key.publicPem)] });
  expect(trust).toMatchObject({ threshold: 2, keys: [key.publicPem], root: null });
  expect(problems).toEqual([expect.stringContaining(`${path} ${problem}`)]);
});

it.each([
  ['no JSON', 'hello', 'is not JSON'],
  ['JSON of another kind', '{"mediaType":"application/json"}', 'is not a Sigstore trust root'],
  ['null', 'null', 'is not a Sigstore trust root'],
  [
    'damaged',
    newSigstore()
      .trustRoot()
      .replace(/"rawBytes":"MII./, '"rawBytes":"AAAA'),
    'is a damaged trust root',
  ],
])('leaves a root that is %s out', (_kind, text, problem) => {
  const path = write('root.json', text);
  expect(readTrust({ root: path })).toMatchObject({ trust: { root: null }, problems: [`${path} ${problem}`] });
});

it('never waits for anything but a regular file', () => {
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const { problems } = readTrust({ keys: [pipe, join(dir, 'none'), dir] });
  expect(problems).toEqual([
    `${pipe} cannot be read (ENOTREG)`,
    `${join(dir, 'none')} is missing`,
    `${dir} cannot be read (EISDIR)`,
  ]);
});

function rsaKey(modulusLength: number): string {
  return signingKeyOf(generateKeyPairSync('rsa', { modulusLength }).privateKey).publicPem;
}

function otherKey(): string {
  return generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'pem' });
}
