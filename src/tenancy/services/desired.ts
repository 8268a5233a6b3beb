import { desiredShaOf } from '../rules/rollout/desiredSha.ts';
import type { BackendRow, EnvRow } from '../store/database.ts';
import { listEnvs } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import type { RolloutRow } from '../store/rolloutTable.ts';
import { listActiveRollouts } from '../store/rollouts.ts';

/** What is desired in some envs. */
export interface Desired {
  /** By name. */
  envs: EnvRow[];
  /** Those that are neither done nor aborted. */
  rollouts: RolloutRow[];
  /** The digest of the bundle that is desired of a backend of these envs; null for none. */
  of: (backend: Pick<BackendRow, 'env' | 'rollout_id' | 'applied_sha'>) => string | null;
}

/** Reads what is desired in some envs, or in all (null). */
export async function readDesired(store: Store, names: readonly string[] | null): Promise<Desired> {
  const [envs, rollouts] = await Promise.all([listEnvs(store, names), listActiveRollouts(store, names)]);
  const envShas = new Map(envs.map((env) => [env.name, env.desired_sha]));
  const byId = new Map(rollouts.map((rollout) => [rollout.id, rollout]));
  return {
    envs,
    rollouts,
    of: ({ env, rollout_id, applied_sha: appliedSha }) =>
      desiredShaOf({ envSha: envShas.get(env) ?? null, joined: byId.get(rollout_id ?? '') ?? null, appliedSha }),
  };
}
