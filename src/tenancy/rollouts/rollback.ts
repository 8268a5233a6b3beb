import { insertStoredBundle } from '../bundles/archives.ts';
import { resequenceBundle } from '../bundles/repackBundle.ts';
import { conflict } from '../core/apiError.rules.ts';
import { findBundle } from '../store/bundles.ts';
import type { BundleRow, RolloutRow } from '../store/database.ts';
import { findBundleTrust, setDesiredSha } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { announceAwaited } from '../webhooks/deliver.ts';
import { applyRolloutEvent, type RolloutDependencies } from './advance.ts';
import { lockRollout, type RolloutAct, rolloutView, wrongState } from './rollouts.ts';
import type { Rollout } from './rolloutSchemas.ts';

/** Largest number of attempts to pack the previous bundle again while bundles with a higher sequence are pushed. */
const MAX_TRIES = 5;

/**
 * Aborts the rollout of an environment and makes the previous content desired again. This is the previous bundle if
 * hosts may return to it, otherwise the same content under a new sequence, which awaits signatures if hosts require
 * them. Throws 404, 409 `ROLLOUT_STATE` if the rollout is over, 503 `DISK_FULL`, `BUNDLE_MISSING` and `BUNDLE_DAMAGED`,
 * and PeerErrors. After an error the rollout is halted.
 */
export async function abortRollout(deps: RolloutDependencies, act: RolloutAct): Promise<Rollout> {
  const rollout = await halt(deps, act);
  const previous = await findReturn(deps, rollout);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const repacked = previous && (await resequenceBundle(deps, previous, act.caller.actor));
    const aborted = await finish(deps, act, { rollout, repacked });
    if (aborted !== null) return rolloutView(aborted, deps.clock());
  }
  const message = 'other bundles kept being pushed; the rollout is halted: abort it again';
  throw conflict({ code: 'DESIRED_CHANGED', message, env: act.env });
}

/** Halts the rollout before packing, so that no further host gets the bundle meanwhile. */
async function halt(deps: RolloutDependencies, { caller, env }: RolloutAct): Promise<RolloutRow> {
  return deps.store.transaction().execute(async (work) => {
    const row = await lockRollout(work, env);
    const event = { type: 'HALT', by: 'abort' } as const;
    const halted = { ...caller, act: 'rollout.halt' };
    return (await applyRolloutEvent(deps, work, { row, event, caller: halted })) ?? row;
  });
}

/** The previous bundle, if hosts that run the newer one would refuse to return to it; otherwise null. */
async function findReturn(
  { store }: RolloutDependencies,
  { started, sha256, previous_sha }: RolloutRow,
): Promise<BundleRow | null> {
  if (previous_sha === null || started === 0) return null;
  const [previous, bundle] = await Promise.all([findBundle(store, previous_sha), findBundle(store, sha256)]);
  if (previous === null || bundle === null || previous.allow_rollback === 1) return null;
  return previous.sequence > bundle.sequence ? null : previous;
}

/** Returns null if a bundle with a higher sequence was pushed meanwhile. */
async function finish(
  deps: RolloutDependencies,
  { caller, env }: RolloutAct,
  { rollout, repacked }: { rollout: RolloutRow; repacked: BundleRow | null },
): Promise<RolloutRow | null> {
  return deps.store.transaction().execute(async (work) => {
    const row = await lockRollout(work, env);
    if (row.id !== rollout.id) throw wrongState(row);
    if (repacked !== null && !(await insertReturn(work, repacked, row))) return null;
    return applyRolloutEvent(deps, work, { row, event: { type: 'ABORT' }, caller });
  });
}

/**
 * Makes the repacked bundle the desired one, or the replacement that waits for signatures; returns false if its
 * sequence is stale.
 */
async function insertReturn(work: Store, repacked: BundleRow, { env, previous_sha }: RolloutRow): Promise<boolean> {
  const mustWait = (await findBundleTrust(work, env)) !== null;
  const replaces = mustWait ? previous_sha : null;
  if ((await insertStoredBundle(work, { ...repacked, replaces })) !== 'added') return false;
  if (mustWait) await announceAwaited(work, repacked);
  else await setDesiredSha(work, env, repacked.sha256);
  return true;
}
