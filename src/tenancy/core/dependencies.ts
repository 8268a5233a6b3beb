import type { SpanQueue } from '../../core/spanQueue.ts';
import type { TenancySettings } from '../config/settings.ts';
import type { BearerCounts, LookUpBearer } from '../keys/bearerCache.ts';
import type { KeyRing, Sealer } from '../keys/keyRing.ts';
import type { BundleStorage } from '../peers/bundleStorage.ts';
import type { IdentityProvider } from '../peers/identityProvider.ts';
import type { MeshDirectory } from '../peers/meshDirectory.ts';
import type { PostWebhook } from '../peers/postWebhook.ts';
import type { Secretstore } from '../peers/secretstore.ts';
import type { Store } from '../store/openStore.ts';
import type { ChangeFeed } from './changeFeed.ts';
import type { Limiter } from './limiter.ts';

/** One line of the log, with fields; values of secrets never get here. */
export type LogLine = (
  level: 'error' | 'warn' | 'info' | 'debug',
  line: string,
  fields?: Record<string, unknown>,
) => void;

/** What every service works with; built once by src/tenancy/server/createTenancy.ts. */
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
  readonly limitComparisons: Limiter;
  readonly postWebhook: PostWebhook;
  /** Encrypts by the key file. */
  readonly sealer: Sealer;
  /** Null without a mesh. */
  readonly mesh: MeshDirectory | null;
  /** Null where people do not sign in. */
  readonly identityProvider: IdentityProvider | null;
  /** What install kits say of the outside: PEM of the secretstore's CA, bearer of the package download. */
  readonly kit: { secretstoreCa: string | null; downloadToken: string | null };
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** When this instance started, by the clock. */
  readonly startedAt: number;
  readonly log: LogLine;
  /** Takes the spans of requests; null where traces are not sent. */
  readonly spans: SpanQueue | null;
  /** Tells what changes in the store. */
  readonly changes: ChangeFeed;
}
