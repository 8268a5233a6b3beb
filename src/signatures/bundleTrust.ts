import type { TrustedIdentity } from '../protocol/trustSettings.ts';

/** Whom a host believes about bundles or about images (spec §18): public keys and keyless identities, of which `threshold` must have signed. */
export interface BundleTrust {
  threshold: number;
  /** Public keys as PEM text: ECDSA, Ed25519 or RSA. */
  keys: readonly string[];
  identities: readonly TrustedIdentity[];
  /** JSON text of a Sigstore trust root, by which certificates, log entries and timestamps are verified; needed for identities. */
  root: string | null;
}

/** What a signature says of a bundle; all of it must be true of the manifest. */
export interface BundleClaim {
  name: string;
  env: string;
  version: string;
  sequence: number;
}
