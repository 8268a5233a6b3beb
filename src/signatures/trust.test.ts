import { ECDH } from 'node:crypto';
import { bitString, oid, sequence } from '../../fixtures/world/signatures/der.ts';
import { newSigningKey } from '../../fixtures/world/signatures/signBundle.ts';
import { keyName, plainPem, type PublicKey, readPublicKey } from './trust.ts';

const { publicPem, privateKey, hint } = newSigningKey();

it('reads a key, whatever text stands around it', () => {
  expect((readPublicKey(`# of the release team\n${publicPem}\n`) as PublicKey).hint).toBe(hint);
});

it('writes only a key, without a private key beside it', () => {
  expect(plainPem(`${publicPem}${privateKey.export({ type: 'pkcs8', format: 'pem' })}`)).toBe(publicPem);
  expect(plainPem(publicPem.trim())).toBe(publicPem);
});

it.each([
  ['ab=', 'key SHA256:ab'],
  ['a==', 'key SHA256:a'],
  ['a=b=', 'key SHA256:a=b'],
])('names the key %s as ssh-keygen does', (text, name) => {
  expect(keyName(text)).toBe(name);
});

it('reads a key in any encoding as the same key', () => {
  const shortPoint = ECDH.convertKey(uncompressedPoint(), 'prime256v1', undefined, 'hex', 'compressed');
  const short = sequence(
    sequence(oid('1.2.840.10045.2.1'), oid('1.2.840.10045.3.1.7')),
    bitString(Buffer.from(shortPoint, 'hex')),
  );
  const pem = `-----BEGIN PUBLIC KEY-----\n${short.toString('base64')}\n-----END PUBLIC KEY-----\n`;
  expect(pem).not.toBe(publicPem);
  expect((readPublicKey(pem) as PublicKey).hint).toBe(hint);
  expect(plainPem(pem)).toBe(publicPem);
});

/** The point of the key: the last 65 bytes of its DER. */
function uncompressedPoint(): Buffer {
  return Buffer.from(publicPem.replaceAll(/-----[^-]+-----/g, ''), 'base64').subarray(-65);
}
