import { generateKeyPairSync, sign } from 'node:crypto';
import {
  newSigningKey,
  signBundle,
  signingKeyOf,
  signStatement,
  statementAbout,
} from '../../fixtures/world/signatures/signBundle.ts';
import { byIdentity, byKey, claim, key, release, sha256, sigstore } from '../../fixtures/world/signatures/trusted.ts';
import type { BundleTrust } from './trust.ts';
import { signBundle as createSignature } from './sign/signBundle.ts';
import { verifySignatures } from './verifySignatures.ts';

const verify = (signature: unknown, trust: BundleTrust = byKey) => verifySignatures(trust, sha256, [signature]);
const signer = `key SHA256:${key.hint.replace('=', '')}`;

it.each([
  ['ECDSA on P-256', newSigningKey()],
  ['ECDSA on P-384', signingKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey)],
  ['ECDSA on P-521', signingKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey)],
  ['Ed25519', signingKeyOf(generateKeyPairSync('ed25519').privateKey)],
  ['RSA', signingKeyOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)],
])('accepts a key of %s', (_kind, other) => {
  const trust = { ...byKey, keys: [key.publicPem, other.publicPem] };
  const { verified, faults } = verify(signBundle(sha256, claim, other), trust);
  expect(faults).toEqual([]);
  expect(verified).toEqual([{ signer: `key SHA256:${other.hint.replace('=', '')}`, claim }]);
});

it.each([
  ['P-384', 'sha384'],
  ['P-521', 'sha512'],
])('accepts a key on %s that signs with %s, as cosign 3 does', async (namedCurve, digest) => {
  const { privateKey, publicPem } = signingKeyOf(generateKeyPairSync('ec', { namedCurve }).privateKey);
  const signer = { publicKey: publicPem, sign: (bytes: Buffer) => Promise.resolve(sign(digest, bytes, privateKey)) };
  const signed = await createSignature({ sha256, claim }, signer);
  expect(verify(signed.signature, { ...byKey, keys: [publicPem] }).verified).toHaveLength(1);
  const wrong = { publicKey: publicPem, sign: (bytes: Buffer) => Promise.resolve(sign('sha224', bytes, privateKey)) };
  await expect(createSignature({ sha256, claim }, wrong)).rejects.toThrow('it is not a signature by the public key');
});

it('accepts the holder of a certificate', () => {
  const { verified, faults } = verify(sigstore.sign(statementAbout(sha256, claim)), byIdentity);
  expect(faults).toEqual([]);
  expect(verified).toEqual([{ signer: 'release@example.com (https://id.example)', claim }]);
});

it.each([
  ['v1.2', 'v*', true],
  ['v1.2', '*', true],
  ['v1.2', 'w*', false],
  ['', '*', false],
])('takes a signature for the tag %j as one of the trusted tags %j: %s', (tag, pattern, isTrusted) => {
  const workflow = 'https://git.example/acme/web/release.yml@refs/tags/';
  const trust = { ...byIdentity, identities: [{ ...release, subject: `${workflow}${pattern}` }] };
  const signed = sigstore.sign(statementAbout(sha256, claim), { subject: `${workflow}${tag}` });
  const signers = verify(signed, trust).verified.map((each) => each.signer);
  expect(signers).toEqual(isTrusted ? [`${workflow}${pattern} (https://id.example)`] : []);
  const branch = sigstore.sign(statementAbout(sha256, claim), {
    subject: `https://git.example/acme/web/release.yml@refs/heads/x@refs/tags/${tag}`,
  });
  expect(verify(branch, trust).verified).toEqual([]);
});

it('counts signatures for two tags as one signer', () => {
  const workflow = 'https://git.example/acme/web/release.yml@refs/tags/';
  const trust = { ...byIdentity, identities: [{ ...release, subject: `${workflow}*` }] };
  const signed = ['v1', 'v2'].map((tag) => sigstore.sign(statementAbout(sha256, claim), { subject: workflow + tag }));
  const { verified } = verifySignatures(trust, sha256, signed);
  expect(verified).toHaveLength(2);
  expect(new Set(verified.map((each) => each.signer)).size).toBe(1);
});

it('reports each rejected signature, by its place', () => {
  const other = newSigningKey();
  const { verified, faults } = verifySignatures(byKey, sha256, [
    signBundle(sha256, claim, other),
    signBundle(sha256, claim, key),
    {},
  ]);
  expect(verified).toEqual([{ signer, claim }]);
  expect(faults).toEqual([
    `signature 1: it is by key SHA256:${other.hint.replace('=', '')}, which is not trusted`,
    expect.stringMatching(/^signature 3: it is not a Sigstore bundle v0\.3: /),
  ]);
});

const { dsseEnvelope, ...others } = signBundle(sha256, claim, key);
const [entry] = sigstore.sign(statementAbout(sha256, claim)).verificationMaterial['tlogEntries'] as [object];
const firstEntry = { ...entry, logIndex: '0' };
const withFirstEntry = {
  ...others,
  dsseEnvelope,
  verificationMaterial: { ...others.verificationMaterial, tlogEntries: [firstEntry] },
};

it.each<[string, unknown]>([
  [
    'the older spelling of the media type',
    { ...others, dsseEnvelope, mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.3' },
  ],
  [
    'an empty list of log entries',
    { ...others, dsseEnvelope, verificationMaterial: { ...others.verificationMaterial, tlogEntries: [] } },
  ],
  ['a log entry with the index 0 written out', withFirstEntry],
  [
    'an empty id of the key',
    { ...others, dsseEnvelope: { ...dsseEnvelope, signatures: [{ ...dsseEnvelope.signatures[0], keyid: '' }] } },
  ],
  [
    'a statement of the older version',
    signStatement({ ...statementAbout(sha256, claim), _type: 'https://in-toto.io/Statement/v0.1' }, key),
  ],
])('reads %s, as others write it', (_what, signature) => {
  expect(verify(signature)).toEqual({ verified: [{ signer, claim }], faults: [] });
});

it('reports a fault in at most 300 characters, and a field by its path', () => {
  const [long = ''] = verify({ ...others, dsseEnvelope, ['x'.repeat(900)]: 1 }).faults;
  expect(long.length).toBeLessThan(320);
  const material = { ...others.verificationMaterial, publicKey: { hint: key.hint, more: 1 } };
  expect(verify({ ...others, dsseEnvelope, verificationMaterial: material }).faults).toEqual([
    'signature 1: its field verificationMaterial.publicKey.more is unknown or malformed',
  ]);
});

it('leaves out a key that cannot be used, and accepts the others', () => {
  expect(verify(signBundle(sha256, claim, key), { ...byKey, keys: ['no key', key.publicPem] }).faults).toEqual([]);
});
