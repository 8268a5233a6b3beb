import type { BundleStorage } from '../adapters/bundles/bundleStorage.ts';
import type { MeshDirectory } from '../adapters/mesh/meshDirectory.ts';
import type { Secretstore } from '../adapters/secretstore/secretstore.ts';
import type { TenancySettings } from '../config/settings.ts';
import type { BearerCounts, LookUpBearer } from '../credentials/bearerCache.ts';
import type { KeyRing } from '../credentials/keyRing.ts';
import type { BundleRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import type { AuditCaller, Operator } from './operator.ts';

/** One line of the log, with fields; values of secrets never get here. */
export type LogLine = (
  level: 'error' | 'warn' | 'info' | 'debug',
  line: string,
  fields?: Record<string, unknown>,
) => void;

/** An archive that was pushed, in a file of this host, with the digest and size that it has. */
export interface PushedArchive {
  file: string;
  sha256: string;
  sizeBytes: number;
  operator: Operator;
  caller: AuditCaller;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
}

/** A bundle that was pushed. */
export interface AcceptedBundle {
  bundle: BundleRow;
  /** False if the same archive was there already. */
  created: boolean;
  /** What some hosts would not permit of it. */
  warnings: string[];
}

/** Validates an archive and keeps it with its audit entry; throws 403, 404, 409 `SEQUENCE_STALE`, and 422 with every refusal. */
export type AcceptBundle = (deps: Dependencies, archive: PushedArchive) => Promise<AcceptedBundle>;

/** What a changed secret means for the bundle that is desired. */
export interface SecretChange {
  caller: AuditCaller;
  env: string;
  /** Path of the secret in manifests. */
  path: string;
  version: number;
}

/** Packs the desired bundle anew so that it pins a version of a secret, and makes it desired; null if it does not read it. */
export type RepackBundle = (deps: Dependencies, change: SecretChange) => Promise<BundleRow | null>;

/** What every service works with; built once by src/tenancy/createTenancy.ts. */
export interface Dependencies {
  readonly settings: TenancySettings;
  readonly version: string;
  readonly store: Store;
  /** The signing keys as they are now; they are read anew once a minute. */
  readonly keys: () => KeyRing;
  /** `secretstore.lookUpToken` behind its cache. */
  readonly lookUpBearer: LookUpBearer;
  /** What the cache counts, for the metrics. */
  readonly bearerCounts: Readonly<BearerCounts>;
  readonly secretstore: Secretstore;
  readonly bundles: BundleStorage;
  readonly acceptBundle: AcceptBundle;
  readonly repackBundle: RepackBundle;
  /** Null without a mesh. */
  readonly mesh: MeshDirectory | null;
  /** What install kits say of the outside: PEM of the secretstore's CA, bearer of the package download. */
  readonly kit: { secretstoreCa: string | null; downloadToken: string | null };
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly log: LogLine;
}
