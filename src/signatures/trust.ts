import { createHash, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
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

/** Reads a public key in PEM: ECDSA, Ed25519, or RSA from 2048 bits. Returns the reason as text if it is not one. */
export function readPublicKey(pem: string): PublicKey | string {
  const found = pem.split('-----BEGIN PUBLIC KEY-----').length - 1;
  if (found === 0) return 'is not a public key in PEM (BEGIN PUBLIC KEY)';
  if (found > 1) return 'contains more than one public key: store each in its own file';
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

/** The end of the last authority of a kind in a trust root; null if one of them has no end, 1970 if there is none. */
interface RootEnd {
  what: 'certificate authority' | 'transparency log' | 'certificate log';
  end: Date | null;
}

interface Validity {
  validFor?: { end?: string };
}

interface RootJson {
  certificateAuthorities?: (Validity & { certChain?: { certificates?: { rawBytes: string }[] } })[];
  tlogs?: { publicKey?: Validity }[];
  ctlogs?: { publicKey?: Validity }[];
}

/** The ends of a Sigstore trust root, by its JSON text. Throws an error if the text is not one. */
export function rootEnds(text: string): RootEnd[] {
  const { certificateAuthorities = [], tlogs = [], ctlogs = [] } = JSON.parse(text) as RootJson;
  const authorities = certificateAuthorities.map(({ validFor, certChain }) =>
    earliest([endOf(validFor), ...(certChain?.certificates ?? []).map(({ rawBytes }) => certificateEnd(rawBytes))]),
  );
  return [
    { what: 'certificate authority', end: latest(authorities) },
    { what: 'transparency log', end: latest(tlogs.map(({ publicKey }) => endOf(publicKey?.validFor))) },
    { what: 'certificate log', end: latest(ctlogs.map(({ publicKey }) => endOf(publicKey?.validFor))) },
  ];
}

/** The time from which nothing ends later. */
const never = Infinity;

function endOf(validFor: Validity['validFor']): number {
  return validFor?.end === undefined ? never : Date.parse(validFor.end);
}

function certificateEnd(base64: string): number {
  return Date.parse(new X509Certificate(Buffer.from(base64, 'base64')).validTo);
}

function earliest(times: number[]): number {
  return Math.min(...times);
}

/** 1970 without any. */
function latest(times: number[]): Date | null {
  const last = Math.max(0, ...times);
  return last === never ? null : new Date(last);
}
