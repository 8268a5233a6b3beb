import { listBundles as selectBundles } from '../store/bundles.ts';
import type { ListedBundle, Place } from '../store/database.ts';
import { toTime } from './backendViews.ts';
import { findPermitted, type NamedBundle } from './bundles/findPermitted.ts';
import type { Dependencies } from './dependencies.ts';
import type { Operator } from './operator.ts';
import { toPage } from './page.ts';

/** A bundle as the API tells it. */
export interface BundleView {
  sha256: string;
  env: string;
  name: string;
  version: string;
  sequence: number;
  size_bytes: number;
  production: boolean;
  allow_privileged: boolean;
  allow_rollback: boolean;
  /** RFC 3339. */
  received_at: string;
  /** Name of the operator who pushed it, or whose act made it. */
  received_from: string;
}

/** One bundle, with the variables of its manifest. */
export interface BundleDetails extends BundleView {
  variables: Record<string, string>;
}

/** A page of the bundles of the envs that an operator may see, newest first. */
export async function listBundles(
  { store }: Dependencies,
  { operator, env, after, limit }: { operator: Operator; env?: string; after?: Place | undefined; limit: number },
): Promise<{ bundles: BundleView[]; last: Place | null }> {
  const envs = env === undefined ? operator.envs : [env];
  const { items, last } = toPage(await selectBundles(store, { envs, after, limit: limit + 1 }), limit);
  return { bundles: items.map(bundleView), last: last && { time: last.received_at, id: last.sha256 } };
}

/** One bundle; throws 404, and 403 if the operator's token is not for its env. */
export async function readBundle(deps: Dependencies, bundle: NamedBundle): Promise<BundleDetails> {
  const row = await findPermitted(deps, bundle, 'viewer');
  return { ...bundleView(row), variables: JSON.parse(row.variables) as Record<string, string> };
}

/** A bundle's row as the API tells it. */
export function bundleView(row: ListedBundle): BundleView {
  const { sha256, env, name, version, sequence, size_bytes, received_from } = row;
  return {
    sha256,
    env,
    name,
    version,
    sequence,
    size_bytes,
    production: row.production === 1,
    allow_privileged: row.allow_privileged === 1,
    allow_rollback: row.allow_rollback === 1,
    received_at: toTime(row.received_at),
    received_from,
  };
}
