import type { BundleTrust } from '../../signatures/bundleTrust.ts';
import type { Store } from './openStore.ts';

/** Keeps whom the hosts of an env believe about bundles; null if they demand no signature. */
export async function setBundleTrust(work: Store, env: string, trust: BundleTrust | null): Promise<void> {
  await work.deleteFrom('bundle_trusts').where('env', '=', env).execute();
  if (trust === null) return;
  const row = { env, threshold: trust.threshold, trust: JSON.stringify(trust) };
  await work.insertInto('bundle_trusts').values(row).execute();
}

/** Whom the hosts of an env believe about bundles; null if they demand no signature. */
export async function findBundleTrust(store: Store, env: string): Promise<BundleTrust | null> {
  const row = await store.selectFrom('bundle_trusts').select('trust').where('env', '=', env).executeTakeFirst();
  return row === undefined ? null : (JSON.parse(row.trust) as BundleTrust);
}

/** How many different signers the hosts of some envs demand; envs whose hosts demand none are left out. */
export async function findThresholds(store: Store, envs: readonly string[]): Promise<Map<string, number>> {
  if (envs.length === 0) return new Map();
  const query = store.selectFrom('bundle_trusts').select(['env', 'threshold']).where('env', 'in', envs);
  return new Map((await query.execute()).map(({ env, threshold }) => [env, threshold]));
}
