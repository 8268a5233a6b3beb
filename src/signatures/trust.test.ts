import { ECDH } from 'node:crypto';
import { bitString, oid, sequence } from '../../fixtures/world/signatures/der.ts';
import { newSigstore } from '../../fixtures/world/signatures/keyless.ts';
import { newSigningKey } from '../../fixtures/world/signatures/signBundle.ts';
import { keyName, plainPem, type PublicKey, readPublicKey, rootEnds } from './trust.ts';

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

const now = new Date('2026-06-01T00:00:00Z');
const nextYear = new Date('2027-06-01T00:00:00Z');

it('takes the end of the certificate where the authority has no earlier one', () => {
  expect(rootEnds(newSigstore(now).trustRoot())).toEqual([
    { what: 'certificate authority', end: nextYear },
    { what: 'transparency log', end: null },
    { what: 'certificate log', end: null },
  ]);
});

it('takes the end that is stated where that is earlier', () => {
  const end = '2026-07-01T00:00:00.000Z';
  expect(rootEnds(newSigstore(now).trustRoot({ end })).map((each) => each.end)).toEqual(Array(3).fill(new Date(end)));
});

it('takes the last of several, and 1970 without one', () => {
  const log = (end?: string) => ({ publicKey: { validFor: { end } } });
  const root = { tlogs: [log('2026-01-01T00:00:00Z'), log('2026-03-01T00:00:00Z'), log('2026-02-01T00:00:00Z')] };
  expect(rootEnds(JSON.stringify(root)).map(({ end }) => end?.toISOString())).toEqual([
    '1970-01-01T00:00:00.000Z',
    '2026-03-01T00:00:00.000Z',
    '1970-01-01T00:00:00.000Z',
  ]);
});

it('takes an end that is null for none', () => {
  const root = { tlogs: [{ publicKey: { validFor: { end: null } } }] };
  expect(rootEnds(JSON.stringify(root))[1]).toEqual({ what: 'transparency log', end: null });
});

it('reads a key in any encoding as the same key', () => {
  const short = sequence(
    sequence(oid('1.2.840.10045.2.1'), oid('1.2.840.10045.3.1.7')),
    bitString(ECDH.convertKey(uncompressedPoint(), 'prime256v1', undefined, undefined, 'compressed') as Buffer),
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
