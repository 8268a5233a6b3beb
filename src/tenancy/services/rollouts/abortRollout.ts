import { findBundle } from '../../store/bundles.ts';
import { findBundleTrust } from '../../store/bundleTrusts.ts';
import type { BundleRow } from '../../store/database.ts';
import type { RolloutRow } from '../../store/rolloutTable.ts';
import { setDesiredSha } from '../../store/envs.ts';
import type { Store } from '../../store/openStore.ts';
import { conflict } from '../apiError.ts';
import { insertStoredBundle } from '../bundles/archiveStorage.ts';
import { resequenceBundle } from '../bundles/resequenceBundle.ts';
import type { Dependencies } from '../dependencies.ts';
import { announceAwaited } from '../webhooks/announce.ts';
import { lockRollout, wrongState, type RolloutAct } from './changeRollout.ts';
import { applyRolloutEvent } from './rolloutEvent.ts';
import { rolloutView, type RolloutView } from './rolloutViews.ts';

/** How often the bundle from before is packed anew because one of a higher sequence was pushed meanwhile. */
const MAX_TRIES = 5;

/**
 * Aborts the rollout of an env: the content from before is desired again. That is the bundle from before where hosts may go
 * back to it, else the same content under a new sequence, which awaits signatures where hosts demand them. Throws 404, 409
 * `ROLLOUT_STATE` if the rollout is over, 503 `DISK_FULL`, `BUNDLE_MISSING` and `BUNDLE_DAMAGED`, and PeerErrors; it is halted
 * then.
 */
export async function abortRollout(deps: Dependencies, act: RolloutAct): Promise<RolloutView> {
  const rollout = await halt(deps, act);
  const previous = await findReturn(deps, rollout);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const repacked = previous && (await resequenceBundle(deps, previous, act.caller.actor));
    const aborted = await finish(deps, act, { rollout, repacked });
    if (aborted !== null) return rolloutView(aborted, deps.clock());
  }
  const message = 'other bundles were pushed again and again; the rollout is halted, abort it again';
  throw conflict({ code: 'DESIRED_CHANGED', message, env: act.env });
}

/** Packing takes a while, in which no further host is to get the bundle. */
async function halt(deps: Dependencies, { caller, env }: RolloutAct): Promise<RolloutRow> {
  return deps.store.transaction().execute(async (work) => {
    const row = await lockRollout(work, env);
    const event = { type: 'HALT', by: 'abort' } as const;
    const halted = { ...caller, act: 'rollout.halt' };
    return (await applyRolloutEvent(deps, work, { row, event, caller: halted })) ?? row;
  });
}

/** The bundle from before, where hosts that run the newer one would refuse to go back to it; else null. */
async function findReturn(
  { store }: Dependencies,
  { started, sha256, previous_sha }: RolloutRow,
): Promise<BundleRow | null> {
  if (previous_sha === null || started === 0) return null;
  const [previous, bundle] = await Promise.all([findBundle(store, previous_sha), findBundle(store, sha256)]);
  if (previous === null || bundle === null || previous.allow_rollback === 1) return null;
  return previous.sequence > bundle.sequence ? null : previous;
}

/** Null if a bundle of a higher sequence was pushed meanwhile. */
async function finish(
  deps: Dependencies,
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

/** Makes the bundle that was packed anew the desired one, or lets it wait for that; false if its sequence is stale. */
async function insertReturn(work: Store, repacked: BundleRow, { env, previous_sha }: RolloutRow): Promise<boolean> {
  const mustWait = (await findBundleTrust(work, env)) !== null;
  const replaces = mustWait ? previous_sha : null;
  if ((await insertStoredBundle(work, { ...repacked, replaces })) !== 'added') return false;
  if (mustWait) await announceAwaited(work, repacked);
  else await setDesiredSha(work, env, repacked.sha256);
  return true;
}
