import { generateKeyPairSync, sign } from 'node:crypto';
import { newSigstore } from '../../fixtures/signatures/keyless.ts';
import { newSigningKey, signBundle, signingKeyOf, statementAbout } from '../../fixtures/signatures/signBundle.ts';
import type { BundleTrust } from './bundleTrust.ts';
import { signBundle as createSignature } from './sign/signBundle.ts';
import { verifySignatures } from './verifySignatures.ts';

const sha256 = 'a'.repeat(64);
const claim = { name: 'shop', env: 'eu-1', version: '1.2', sequence: 3 };
const key = newSigningKey();
const sigstore = newSigstore();
const release = { issuer: 'https://id.example', subject: 'release@example.com' };
const byKey: BundleTrust = { threshold: 1, keys: [key.publicPem], identities: [], root: null };
const byIdentity: BundleTrust = { threshold: 1, keys: [], identities: [release], root: sigstore.trustRoot() };

const verify = (signature: unknown, trust: BundleTrust = byKey) => verifySignatures(trust, sha256, [signature]);
const signer = `key SHA256:${key.hint.replace('=', '')}`;

it.each([
  ['ECDSA on P-256', newSigningKey()],
  ['ECDSA on P-384', signingKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey)],
  ['ECDSA on P-521', signingKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey)],
  ['Ed25519', signingKeyOf(generateKeyPairSync('ed25519').privateKey)],
  ['RSA', signingKeyOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)],
])('believes a key of %s', (_kind, other) => {
  const trust = { ...byKey, keys: [key.publicPem, other.publicPem] };
  const { verified, faults } = verify(signBundle(sha256, claim, other), trust);
  expect(faults).toEqual([]);
  expect(verified).toEqual([{ signer: `key SHA256:${other.hint.replace('=', '')}`, claim }]);
});

it.each([
  ['P-384', 'sha384'],
  ['P-521', 'sha512'],
])('believes a key on %s that signs with %s, as cosign 3 does', async (namedCurve, digest) => {
  const { privateKey, publicPem } = signingKeyOf(generateKeyPairSync('ec', { namedCurve }).privateKey);
  const signer = { publicKey: publicPem, sign: (bytes: Buffer) => Promise.resolve(sign(digest, bytes, privateKey)) };
  const signed = await createSignature({ sha256, claim }, signer);
  expect(verify(signed.signature, { ...byKey, keys: [publicPem] }).verified).toHaveLength(1);
  const wrong = { publicKey: publicPem, sign: (bytes: Buffer) => Promise.resolve(sign('sha224', bytes, privateKey)) };
  await expect(createSignature({ sha256, claim }, wrong)).rejects.toThrow('it is not a signature by the public key');
});

it('believes the holder of a certificate', () => {
  const { verified, faults } = verify(sigstore.sign(statementAbout(sha256, claim)), byIdentity);
  expect(faults).toEqual([]);
  expect(verified).toEqual([{ signer: 'release@example.com (https://id.example)', claim }]);
});

it('tells each signature that is not believed, by its place', () => {
  const other = newSigningKey();
  const { verified, faults } = verifySignatures(byKey, sha256, [
    signBundle(sha256, claim, other),
    signBundle(sha256, claim, key),
    {},
  ]);
  expect(verified).toEqual([{ signer, claim }]);
  expect(faults).toEqual([
    `signature 1: it is by key SHA256:${other.hint.replace('=', '')}, which is not trusted`,
    expect.stringMatching(/^signature 3: it is no Sigstore bundle v0\.3: /),
  ]);
});
