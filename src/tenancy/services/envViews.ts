import type { TrustedIdentity } from '../../protocol/trustSettings.ts';
import type { BundleTrust } from '../../signatures/bundleTrust.ts';
import { visibleEnvs } from '../rules/permission.ts';
import { findBundle, findNewestBundle } from '../store/bundles.ts';
import { findBundleTrust } from '../store/bundleTrusts.ts';
import type { EnvRow } from '../store/database.ts';
import { countBackends, findEnv, listEnvs as selectEnvs, type BackendCount } from '../store/envs.ts';
import { notFound } from './apiError.ts';
import { viewBundles, type BundleView } from './bundleList.ts';
import type { Dependencies } from './dependencies.ts';
import type { Operator } from './operator.ts';

/** An env as the API returns it. */
export interface EnvView {
  name: string;
  production: boolean;
  desired_sha: string | null;
  last_sequence: number;
  /** Number of backends by state; states without any are left out. */
  backends: Record<string, number>;
}

/** One env, with what its hosts demand of bundles, and the bundles that matter now. */
export interface EnvDetails extends EnvView {
  /** Null if they demand no signature, as far as the service knows. */
  trust: TrustView | null;
  desired: BundleView | null;
  newest: BundleView | null;
}

/** Whom the hosts of an env believe about bundles. */
export interface TrustView {
  threshold: number;
  /** Public keys, in PEM. */
  keys: string[];
  identities: TrustedIdentity[];
  /** A Sigstore trust root. */
  root: { mediaType: string } | null;
}

/** The envs that an operator may see, by name. */
export async function listEnvs({ store }: Dependencies, operator: Operator): Promise<EnvView[]> {
  const envs = visibleEnvs(operator.permissions);
  const [rows, counts] = await Promise.all([selectEnvs(store, envs), countBackends(store, envs)]);
  return rows.map((row) => viewOf(row, counts));
}

/** One env; throws 404. */
export async function readEnv({ store }: Dependencies, name: string): Promise<EnvDetails> {
  const row = await findEnv(store, name);
  if (row === null) throw notFound('env');
  const trust = await findBundleTrust(store, name);
  const desired = row.desired_sha === null ? null : await findBundle(store, row.desired_sha);
  const newest = await findNewestBundle(store, name);
  const views = await viewBundles(
    store,
    [desired, newest].filter((bundle) => bundle !== null),
  );
  const viewOfBundle = (sha256: string | undefined) => views.find((view) => view.sha256 === sha256) ?? null;
  return {
    ...viewOf(row, await countBackends(store, [name])),
    trust: trust && trustView(trust),
    desired: viewOfBundle(desired?.sha256),
    newest: viewOfBundle(newest?.sha256),
  };
}

function trustView({ threshold, keys, identities, root }: BundleTrust): TrustView {
  return {
    threshold,
    keys: [...keys],
    identities: [...identities],
    root: root === null ? null : (JSON.parse(root) as TrustView['root']),
  };
}

function viewOf({ name, production, desired_sha, last_sequence }: EnvRow, counts: BackendCount[]): EnvView {
  const own = counts.filter(({ env }) => env === name).map(({ state, backends }) => [state, backends] as const);
  const backends = Object.fromEntries(own);
  return { name, production: production === 1, desired_sha, last_sequence, backends };
}
