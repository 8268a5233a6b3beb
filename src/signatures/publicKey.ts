import { createHash, createPublicKey, type KeyObject } from 'node:crypto';

/** A public key that signatures may be of. */
export interface PublicKey {
  key: KeyObject;
  /** Base64 of the sha256 of its DER, by which a signature names it (`publicKey.hint`). */
  hint: string;
}

const minRsaBits = 2048;

/** Reads a public key in PEM: ECDSA, Ed25519, or RSA from 2048 bits. Returns the reason as text when it is none. */
export function readPublicKey(pem: string): PublicKey | string {
  const found = pem.split('-----BEGIN PUBLIC KEY-----').length - 1;
  if (found === 0) return 'is not a public key in PEM (BEGIN PUBLIC KEY)';
  if (found > 1) return 'holds more than one public key: give each a file of its own';
  try {
    const key = createPublicKey(pem);
    return unusableReason(key) ?? { key, hint: hintOf(key) };
  } catch {
    return 'is a damaged public key';
  }
}

/** A usable key alone in PEM, without whatever else its text holds, be it a private key. Throws an error for any other text. */
export function plainPem(pem: string): string {
  return createPublicKey(pem).export({ type: 'spki', format: 'pem' });
}

/** How a key is named to people: `key SHA256:…`, as `ssh-keygen -l` writes it. */
export function keyName(hint: string): string {
  return `key SHA256:${hint.replace(/=+$/, '')}`;
}

function hintOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64');
}

function unusableReason({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string | null {
  if (type === 'ec' || type === 'ed25519') return null;
  if (type !== 'rsa') return `is a key of the kind ${type ?? 'unknown'}; ECDSA, Ed25519 and RSA can be verified`;
  return (details?.modulusLength ?? 0) < minRsaBits ? `is an RSA key of less than ${minRsaBits} bits` : null;
}
