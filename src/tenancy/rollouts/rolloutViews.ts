import { nextOpening } from '../../api/timeWindow.rules.ts';
import { notFound } from '../core/apiError.ts';
import type { AuditDependencies } from '../core/audit.ts';
import { toTime } from '../core/lists.rules.ts';
import type {
  BackendRow,
  EnvRow,
  RolloutPlan,
  RolloutProgress,
  RolloutRow,
  Wave,
  WaveProgress,
} from '../store/database.ts';
import { findEnv, listEnvs } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { listActiveRollouts, listRollouts as selectRollouts } from '../store/rollouts.ts';
import { desiredShaOf } from './rollout.rules.ts';
import type { Rollout } from './rolloutSchemas.ts';

/** The newest rollout of an environment, even if it is over; throws 404. */
export async function readRollout(deps: AuditDependencies, env: string): Promise<Rollout> {
  const [newest] = await listRollouts(deps, { env, limit: 1 });
  if (newest === undefined) throw notFound('rollout');
  return newest;
}

/** The rollouts of an environment, newest first; throws 404 if the environment does not exist. */
export async function listRollouts(
  { store, clock }: AuditDependencies,
  { env, limit }: { env: string; limit: number },
): Promise<Rollout[]> {
  if ((await findEnv(store, env)) === null) throw notFound('env');
  const now = clock();
  return (await selectRollouts(store, env, limit)).map((row) => rolloutView(row, now));
}

/** A rollout's row as the API returns it. */
export function rolloutView(row: RolloutRow, now: number): Rollout {
  const { id, env, sha256, previous_sha, state, halted_by, started, gate_reason, created_by } = row;
  const { waves, gate_webhook = null, ...plan } = JSON.parse(row.plan) as RolloutPlan;
  const progress = JSON.parse(row.progress) as RolloutProgress;
  return {
    id,
    env,
    sha256,
    previous_sha,
    state,
    state_since: toTime(row.state_since),
    halted_by,
    next_start_at: state === 'pending' ? toTime(nextOpening(plan.windows, now)) : null,
    started,
    ...plan,
    gate_webhook,
    gate_reason,
    waves: waves.map((wave, index) => waveView(wave, progress.waves[index])),
    remaining: progress.remaining,
    failed_hosts: progress.failed_hosts ?? [],
    created_at: toTime(row.created_at),
    created_by,
  };
}

const noHosts: WaveProgress = {
  hosts: 0,
  waiting: 0,
  succeeded: 0,
  failed: 0,
  excused: 0,
  offline: 0,
  asleep: 0,
};

function waveView({ count, percent, labels = {} }: Wave, progress = noHosts): Rollout['waves'][number] {
  return { count: count ?? null, percent: percent ?? null, labels, ...progress };
}

/** The desired bundles of some environments. */
interface Desired {
  /** By name. */
  envs: EnvRow[];
  /** Rollouts that are neither done nor aborted. */
  rollouts: RolloutRow[];
  /** Returns the digest of the desired bundle of a backend in these environments; null for none. */
  of: (backend: Pick<BackendRow, 'env' | 'rollout_id' | 'applied_sha'>) => string | null;
}

/** Reads the desired bundles of some environments, or of all (null). */
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
