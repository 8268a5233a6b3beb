import { createPublicKey, sign, type KeyObject } from 'node:crypto';
import { readPublicKey } from '../publicKey.ts';

/** Whoever signs: the holder of a private key, or a command that reaches one. */
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
