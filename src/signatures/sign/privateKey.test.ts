import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { cosignKey } from '../../../fixtures/world/signatures/cosignKey.ts';
import { readPrivateKey } from './privateKey.ts';
import { keySigner } from './signBundle.ts';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const password = 'läßt sich nicht raten';
const lock = { cipher: 'aes-256-cbc', passphrase: password };
const pem = (key: KeyObject, options: object) => key.export({ format: 'pem', type: 'pkcs8', ...options });
const neverAsked = () => Promise.reject(new Error('asked for a password'));
const asked = (given: string) => () => Promise.resolve(given);

it.each([
  ['PKCS#8', privateKey, pem(privateKey, {})],
  ['PKCS#8 with other line ends', privateKey, pem(privateKey, {}).replaceAll('\n', '\r\n')],
  ['SEC1', privateKey, pem(privateKey, { type: 'sec1' })],
  ['PKCS#1', rsa, pem(rsa, { type: 'pkcs1' })],
])('reads a key in %s, and asks for no password', async (_form, expected, text) => {
  const key = (await readPrivateKey(text, neverAsked)) as KeyObject;
  expect(key.equals(expected)).toBe(true);
});

it.each([
  ['encrypted PKCS#8', privateKey, pem(privateKey, lock)],
  ['encrypted SEC1', privateKey, pem(privateKey, { ...lock, type: 'sec1' })],
  ['encrypted PKCS#1', rsa, pem(rsa, { ...lock, type: 'pkcs1' })],
  ['the form of cosign', privateKey, cosignKey(privateKey, password)],
  ['its older form', rsa, cosignKey(rsa, password).then((text) => text.replaceAll('SIGSTORE', 'COSIGN'))],
])('reads a key in %s with its password, and with no other', async (_form, expected, text) => {
  const key = (await readPrivateKey(await text, asked(password))) as KeyObject;
  expect(key.equals(expected)).toBe(true);
  for (const other of ['other', ''])
    expect(await readPrivateKey(await text, asked(other))).toBe(
      'cannot be decrypted: the password is wrong, or the key is damaged',
    );
});

it('reads a key of cosign that has an empty password', async () => {
  expect(await readPrivateKey(await cosignKey(privateKey, ''), asked(''))).toMatchObject({ type: 'private' });
});

const damagedCosign = 'is a damaged private key of cosign';
const otherParams = (params: object) => ({ kdf: { name: 'scrypt', salt: 'AAAA', params } });

it.each([
  ['text', 'key', 'is not a private key in PEM (BEGIN PRIVATE KEY)'],
  ['an OpenSSH key', '-----BEGIN OPENSSH PRIVATE KEY-----\n', 'is not a private key in PEM (BEGIN PRIVATE KEY)'],
  ['half a key', pem(privateKey, {}).slice(0, 80), 'is a damaged private key'],
  ['another cipher', cosignKey(privateKey, 'a', { cipher: { name: 'none', nonce: 'AAAA' } }), damagedCosign],
  ['another derivation', cosignKey(privateKey, 'a', { kdf: { name: 'argon2' } }), damagedCosign],
  ['a cost that takes years', cosignKey(privateKey, 'a', otherParams({ N: 2, r: 1, p: 2 ** 24 })), damagedCosign],
  [
    'a cost beyond the memory',
    cosignKey(privateKey, 'a', otherParams({ N: 2 ** 24, r: 8, p: 1 })),
    'cannot be decrypted: the password is wrong, or the key is damaged',
  ],
])('explains why %s is not a usable key', async (_what, text, reason) => {
  expect(await readPrivateKey(await text, asked('a'))).toBe(reason);
});

it.each([
  { N: 2 ** 24, r: 8, p: 1 },
  { N: 3, r: 1, p: 1 },
  { N: 2 ** 15, r: 64, p: 1 },
])('reads a key after one with the cost %j, which is refused', async (params) => {
  const text = await cosignKey(privateKey, 'a', otherParams(params));
  expect(await readPrivateKey(text, asked('a'))).toBe(
    'cannot be decrypted: the password is wrong, or the key is damaged',
  );
  expect(await readPrivateKey(pem(privateKey, {}), neverAsked)).toMatchObject({ type: 'private' });
});

it.each([
  ['ed448', generateKeyPairSync('ed448').privateKey, /^is a key of the kind ed448; /],
  ['RSA of 1024 bits', generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey, /less than 2048 bits$/],
])('signs with no key of %s, which hosts do not verify', (_kind, key, reason) => {
  expect(keySigner(key)).toMatch(reason);
});
