import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { TrustedIdentity } from '../api/trust.rules.ts';

/**
 * The trusted signers of a host for bundles or images (spec §18): public keys and keyless identities, of which
 * `threshold` must have signed.
 */
export interface BundleTrust {
  threshold: number;
  /** Public keys as PEM text: ECDSA, Ed25519 or RSA. */
  keys: readonly string[];
  identities: readonly TrustedIdentity[];
  /**
   * JSON text of a Sigstore trust root, by which certificates, log entries and timestamps are verified; needed for
   * identities.
   */
  root: string | null;
}

/** The claims of a signature about a bundle; all must match the manifest. */
export interface BundleClaim {
  name: string;
  env: string;
  version: string;
  sequence: number;
}

/** A public key that signatures may be of. */
export interface PublicKey {
  key: KeyObject;
  /** Base64 of the sha256 of its DER, by which a signature names it (`publicKey.hint`). */
  hint: string;
}

const minRsaBits = 2048;

/** The curves of ECDSA that cosign and Sigstore know, as OpenSSL names them. */
const curves: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };

/**
 * Reads a public key in PEM: ECDSA on P-256, P-384 or P-521, Ed25519, or RSA from 2048 bits. Returns the reason as text if
 * it is not one.
 */
export function readPublicKey(pem: string): PublicKey | string {
  const found = pem.split('-----BEGIN PUBLIC KEY-----').length - 1;
  if (found === 0) return 'is not a public key in PEM (BEGIN PUBLIC KEY)';
  if (found > 1) return 'contains more than one public key: store each in its own file';
  try {
    const given = createPublicKey(pem);
    const unusable = unusableReason(given);
    if (unusable !== null) return unusable;
    const key = withoutEncoding(given);
    return { key, hint: hintOf(key) };
  } catch {
    return 'is a damaged public key';
  }
}

/** A usable key alone in PEM, without whatever else its text holds, be it a private key. Throws an error for any other text. */
export function plainPem(pem: string): string {
  return withoutEncoding(createPublicKey(pem)).export({ type: 'spki', format: 'pem' });
}

/** How a key is named to people: `key SHA256:…`, as `ssh-keygen -l` writes it. */
export function keyName(hint: string): string {
  return `key SHA256:${hint.replace(/=+$/, '')}`;
}

/** The same key in its usual encoding: a point of a curve also has a short one, and a curve also one by its parameters. */
function withoutEncoding(key: KeyObject): KeyObject {
  return createPublicKey({ key: key.export({ format: 'jwk' }), format: 'jwk' });
}

function hintOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64');
}

function unusableReason({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string | null {
  const curve = details?.namedCurve ?? 'unknown';
  if (type === 'ec' && curves[curve] === undefined)
    return `is an ECDSA key on the curve ${curve}; ${Object.values(curves).join(', ')} can be verified`;
  if (type === 'ec' || type === 'ed25519') return null;
  if (type !== 'rsa') return `is a key of the kind ${type ?? 'unknown'}; ECDSA, Ed25519 and RSA can be verified`;
  return (details?.modulusLength ?? 0) < minRsaBits ? `is an RSA key of less than ${minRsaBits} bits` : null;
}
