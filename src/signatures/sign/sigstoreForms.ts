import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isObject } from '../../core/json.rules.ts';
import { printable } from '../../core/text.rules.ts';
import type { Envelope } from './signBundle.ts';

/** DER of a value with this tag (X.690), with less than 256 bytes in it. */
export function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  return Buffer.concat([Buffer.of(tag, ...(length < 0x80 ? [length] : [0x81, length])), content]);
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const octetString = (bytes: Uint8Array) => der(0x04, bytes);
const bitString = (bytes: Uint8Array) => der(0x03, Buffer.of(0), bytes);

/** An integer from 0 to 127. */
const smallInteger = (value: number) => der(0x02, Buffer.of(value));

/** An object identifier, by its contents in hex. */
const objectIdentifier = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));

/**
 * The required audience of a token. Another token could be a login of another service, which a certificate authority
 * must not get.
 */
const audience = 'sigstore';

/** Why an OIDC token gets no certificate, without its text; null when it may. Its signature is its authority's to verify. */
export function identityTokenProblem(token: string, nowMs: number): string | null {
  const claims = claimsOf(token);
  if (claims === null) return 'is not an OIDC identity token (JWT)';
  const audiences = [claims['aud']].flat();
  if (!audiences.includes(audience))
    return `is for ${printable(audiences.join(', ')) || 'nobody'}, not for ${audience}: ask its issuer for one with that audience`;
  const expiry = claims['exp'];
  if (typeof expiry !== 'number' || Math.abs(expiry) * 1000 > latestMs) return 'has no expiry time';
  return expiry * 1000 > nowMs ? null : `expired at ${new Date(expiry * 1000).toISOString()}: get a new one`;
}

/** The latest time of a `Date`; its earliest time is as far before 1970. */
const latestMs = 8.64e15;

function claimsOf(token: string): Record<string, unknown> | null {
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return null;
  const payload = token.slice(token.indexOf('.') + 1, token.lastIndexOf('.'));
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return isObject(claims) ? claims : null;
  } catch {
    return null;
  }
}

/** ecdsa-with-SHA256. */
const ecdsaWithSha256 = sequence(objectIdentifier('2a8648ce3d040302'));

/**
 * The request of a certificate for a key on P-256 (PKCS#10), in PEM. It proves that its sender holds the key, and names
 * nobody: the identity token names the holder of the certificate.
 */
export function certificateRequest(privateKey: KeyObject): string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const info = sequence(smallInteger(0), sequence(), publicKey, der(0xa0));
  const request = sequence(info, ecdsaWithSha256, bitString(sign('sha256', info, privateKey)));
  const lines = request.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines}-----END CERTIFICATE REQUEST-----\n`;
}

/** The request that adds an envelope to Rekor, signed with the key of this certificate, in PEM. */
export function entryRequest(envelope: Envelope, certificate: string): object {
  const verifiers = [Buffer.from(certificate).toString('base64')];
  const proposedContent = { envelope: JSON.stringify(envelope), verifiers };
  return { apiVersion: '0.0.1', kind: 'dsse', spec: { proposedContent } };
}

/** The entry of Rekor's answer, as a Sigstore bundle has it. Throws for any other answer. */
export function entryOfAnswer(answer: unknown): object {
  const [{ body, integratedTime, logID, logIndex, verification }] = Object.values(answer as object) as [AnsweredEntry];
  const { inclusionProof: proof, signedEntryTimestamp } = verification;
  const { kind, apiVersion } = JSON.parse(Buffer.from(body, 'base64').toString('utf8')) as Record<string, unknown>;
  return {
    logIndex: String(logIndex),
    logId: { keyId: base64(logID) },
    kindVersion: { kind, version: apiVersion },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp },
    inclusionProof: {
      logIndex: String(proof.logIndex),
      rootHash: base64(proof.rootHash),
      treeSize: String(proof.treeSize),
      hashes: proof.hashes.map(base64),
      checkpoint: { envelope: proof.checkpoint },
    },
    canonicalizedBody: body,
  };
}

/** An entry in the words of Rekor; ids and hashes are hex. */
interface AnsweredEntry {
  body: string;
  integratedTime: number;
  logID: string;
  logIndex: number;
  verification: {
    inclusionProof: { checkpoint: string; hashes: string[]; logIndex: number; rootHash: string; treeSize: number };
    signedEntryTimestamp: string;
  };
}

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}

const sha256Algorithm = sequence(objectIdentifier('608648016503040201'), der(0x05));
const certificateWanted = der(0x01, Buffer.of(0xff));

/** The query of a timestamp over a signature (RFC 3161), in DER. */
export function timestampQuery(signature: Buffer): Buffer {
  const imprint = sequence(sha256Algorithm, octetString(createHash('sha256').update(signature).digest()));
  return sequence(smallInteger(1), imprint, nonce(), certificateWanted);
}

/** A positive integer of eight bytes. */
function nonce(): Buffer {
  return der(0x02, Buffer.of(0x40 | (randomBytes(1).readUInt8() & 0x3f)), randomBytes(7));
}
