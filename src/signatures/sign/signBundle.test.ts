import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { signingKeyOf } from '../../../fixtures/signatures/signBundle.ts';
import { byKey, claim, key, sha256 } from '../../../fixtures/signatures/trusted.ts';
import { keyName } from '../trust.ts';
import { verifySignatures } from '../verifySignatures.ts';
import { keySigner, signBundle, type Signer } from './signBundle.ts';

const statement = { sha256, claim };
const signerOf = (privateKey: KeyObject) => keySigner(privateKey) as Signer;

it.each([
  ['ECDSA', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
  ['Ed25519', generateKeyPairSync('ed25519').privateKey],
  ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
])('makes a signature by a key of %s that hosts believe, and names its signer', async (_kind, privateKey) => {
  const { publicPem, hint } = signingKeyOf(privateKey);
  const { signature, signer } = await signBundle(statement, signerOf(privateKey));
  expect(signer).toBe(keyName(hint));
  const { verified, faults } = verifySignatures({ ...byKey, keys: [publicPem] }, sha256, [
    JSON.parse(JSON.stringify(signature)),
  ]);
  expect({ verified, faults }).toEqual({ verified: [{ signer, claim }], faults: [] });
});

it.each<[string, Partial<Signer>, string]>([
  ['the public key is of somebody else', { publicKey: key.publicPem }, 'it is not a signature by the public key'],
  ['the public key is none', { publicKey: 'key' }, 'the public key is not a public key in PEM (BEGIN PUBLIC KEY)'],
  [
    'what is signed is something else',
    { sign: () => Promise.resolve(Buffer.from('x')) },
    'it is not a signature by the public key',
  ],
])('makes none where %s', async (_what, other, message) => {
  const signer = signerOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
  await expect(signBundle(statement, { ...signer, ...other })).rejects.toThrow(message);
});
