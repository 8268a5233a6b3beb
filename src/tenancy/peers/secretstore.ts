import type { BearerIdentity } from '../keys/bearerCache.ts';

/**
 * What the service does at the secretstore, by its own token. Each call throws `PeerError` if the secretstore cannot be
 * asked, is sealed, or refuses the service.
 */
export interface Secretstore {
  /** Whose token a bearer is; null if the secretstore does not know it, or it is not a token of a backend. */
  lookUpToken: (bearer: string) => Promise<BearerIdentity | null>;
  /** Revokes a token by its accessor; one that is unknown is taken for revoked. */
  revokeToken: (accessor: string) => Promise<void>;
  /** Writes a new version of `deployd/data/<env>/see/<key>`; returns its number. */
  writeSecret: (secret: { env: string; key: string; data: Record<string, string> }) => Promise<number>;
  /** Names of the secrets of an env, sorted, with the number of the newest version. */
  listSecrets: (env: string) => Promise<{ key: string; version: number }[]>;
  /** Destroys all versions of a secret; false if there is none. */
  destroySecret: (env: string, key: string) => Promise<boolean>;
  /** Destroys everything at `deployd/metadata/<env>/see/`; stops at the signal. */
  destroySecrets: (env: string, signal: AbortSignal) => Promise<void>;
  /** Throws unless the secretstore is unsealed and accepts the service's token. */
  check: () => Promise<void>;
}
