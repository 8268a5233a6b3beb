import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { dsse } from '@sigstore/core';
import { bundleMediaType, predicateType, statementType } from '../formats.ts';
import { SignatureFault } from '../judgement.rules.ts';
import type { Statement } from '../readSignature.ts';
import { readPublicKey } from '../trust.ts';
import { verifySignatures } from '../verifySignatures.ts';

/** A new signature. */
export interface NewSignature {
  /** A Sigstore bundle v0.3, to be written as JSON. */
  signature: unknown;
  /** As hosts name the signer: `key SHA256:…`, or subject and issuer. */
  signer: string;
}

/**
 * Signs what is stated of a bundle as `cosign attest-blob --new-bundle-format` does (spec §18), and verifies the signature as
 * a host would. Throws a `SignatureFault` where it is not by the signer's key.
 */
export async function signBundle(statement: Statement, { publicKey, sign }: Signer): Promise<NewSignature> {
  const key = readPublicKey(publicKey);
  if (typeof key === 'string') throw new SignatureFault(`the public key ${key}`);
  const dsseEnvelope = await signEnvelope(statement, sign);
  const verificationMaterial = { publicKey: { hint: key.hint } };
  const signature = { mediaType: bundleMediaType, verificationMaterial, dsseEnvelope };
  const trust = { threshold: 1, keys: [publicKey], identities: [], root: null };
  const { verified } = verifySignatures(trust, statement.sha256, [signature]);
  if (verified[0] === undefined) throw new SignatureFault('it is not a signature by the public key');
  return { signature, signer: verified[0].signer };
}

/** A DSSE envelope, as JSON; bytes are base64. */
export interface Envelope {
  payload: string;
  payloadType: string;
  signatures: [{ sig: string }];
}

/** Signs what is stated of a bundle: an in-toto statement in a DSSE envelope (spec §18). */
export async function signEnvelope(
  { sha256, claim }: Statement,
  sign: (bytes: Buffer) => Promise<Buffer> | Buffer,
): Promise<Envelope> {
  const { name, env, version, sequence } = claim;
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ digest: { sha256 } }],
    predicateType,
    predicate: { name, env, version, sequence },
  };
  const payload = Buffer.from(JSON.stringify(statement));
  const sig = await sign(dsse.preAuthEncoding(statementType, payload));
  return {
    payload: payload.toString('base64'),
    payloadType: statementType,
    signatures: [{ sig: sig.toString('base64') }],
  };
}

/** A signer: the holder of a private key, or a command that uses one. */
export interface Signer {
  /** The public key, PEM. */
  publicKey: string;
  /** Signature of bytes, with SHA-256 unless the key is Ed25519; of ECDSA in DER. */
  sign: (bytes: Buffer) => Promise<Buffer>;
}

/** Signs with a private key. Returns the reason as text when no host could verify its signatures. */
export function keySigner(privateKey: KeyObject): Signer | string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' });
  const unusable = readPublicKey(publicKey);
  if (typeof unusable === 'string') return unusable;
  const digest = privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  return { publicKey, sign: (bytes) => Promise.resolve(sign(digest, bytes, privateKey)) };
}
