import { notFound } from '../core/apiError.rules.ts';
import { type Operator, requirePermission, visibleEnvs } from '../core/permission.rules.ts';
import { toPage, toTime } from '../core/lists.rules.ts';
import { findBundle, findSigners, listBundles as selectBundles } from '../store/bundles.ts';
import type { BundleRow, ListedBundle, Place, Role } from '../store/database.ts';
import { findThresholds } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { signatureStateOf } from './bundle.rules.ts';
import type { Bundle, BundleDetails } from './bundleSchemas.ts';

/** A page of bundles in the environments that the operator may see, newest first. */
export async function listBundles(
  { store }: { store: Store },
  { operator, env, after, limit }: { operator: Operator; env?: string; after?: Place | undefined; limit: number },
): Promise<{ bundles: Bundle[]; last: Place | null }> {
  const envs = env === undefined ? visibleEnvs(operator.permissions) : [env];
  const { items, last } = toPage(await selectBundles(store, { envs, after, limit: limit + 1 }), limit);
  return { bundles: await viewBundles(store, items), last: last && { time: last.received_at, id: last.sha256 } };
}

/** Returns one bundle; throws 404, and 403 if the operator's token is not for its environment. */
export async function readBundle(deps: { store: Store }, bundle: NamedBundle): Promise<BundleDetails> {
  const row = await findPermitted(deps, bundle, 'viewer');
  return {
    ...(await viewBundle(deps.store, row)),
    variables: JSON.parse(row.variables) as Record<string, string>,
    profiles: JSON.parse(row.profiles) as string[],
  };
}

/** Converts rows of bundles to the form that the API returns. */
export async function viewBundles(store: Store, rows: readonly ListedBundle[]): Promise<Bundle[]> {
  const envs = [...new Set(rows.map(({ env }) => env))];
  const thresholds = await findThresholds(store, envs);
  const signers = await findSigners(
    store,
    rows.map(({ sha256 }) => sha256),
  );
  return rows.map((row) => {
    const own = signers.get(row.sha256) ?? [];
    const signature = signatureStateOf(own, thresholds.get(row.env) ?? null);
    return { ...viewOf(row), signature, signers: own };
  });
}

/** Converts a bundle's row to the form that the API returns. */
export async function viewBundle(store: Store, row: ListedBundle): Promise<Bundle> {
  const [view] = await viewBundles(store, [row]);
  if (view === undefined) throw new TypeError('a row has no view');
  return view;
}

function viewOf(row: ListedBundle): Omit<Bundle, 'signature' | 'signers'> {
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
    emergency: row.emergency === 1,
    received_at: toTime(row.received_at),
    received_from,
  };
}

/** A bundle that an operator named by its digest. */
export interface NamedBundle {
  operator: Operator;
  sha256: string;
}

/**
 * Returns the row of a bundle; throws 404, and 403 if the operator's token does not have this role in its environment.
 */
export async function findPermitted(
  { store }: { store: Store },
  { operator, sha256 }: NamedBundle,
  role: Role,
): Promise<BundleRow> {
  const row = await findBundle(store, sha256);
  if (row === null) throw notFound('bundle');
  requirePermission(operator, { role, env: row.env });
  return row;
}
