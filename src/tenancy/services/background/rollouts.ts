import type { RolloutEvent } from '../../../../machines/rollout.ts';
import { nextEvent } from '../../rules/rollout/nextEvent.ts';
import type { RolloutPlan, RolloutProgress, RolloutRow } from '../../store/rolloutTable.ts';
import { lockEnv } from '../../store/envs.ts';
import type { Store } from '../../store/openStore.ts';
import { findRollout, isOver, listActiveRollouts, recordOf, refreshProgress } from '../../store/rollouts.ts';
import { byService } from '../audit.ts';
import type { Dependencies } from '../dependencies.ts';
import { applyRolloutEvent, countProgress } from '../rollouts/rolloutEvent.ts';

/** Names of the service's own acts in the audit log. */
const acts: Record<RolloutEvent['type'], string> = {
  START_WAVE: 'rollout.startWave',
  SKIP_WAVE: 'rollout.skipWave',
  COMPLETE_WAVE: 'rollout.completeWave',
  END_SOAK: 'rollout.endSoak',
  PASS_GATE: 'rollout.pass',
  HALT: 'rollout.halt',
  RESUME: 'rollout.resume',
  ABORT: 'rollout.abort',
};

/** Goes on with every rollout as far as it can, whatever becomes of others; each step is made by one instance. */
export async function advanceRollouts(deps: Dependencies, signal: AbortSignal): Promise<void> {
  for (const { id, env } of await listActiveRollouts(deps.store, null)) {
    try {
      while (!signal.aborted && (await advance(deps, id)));
    } catch (error) {
      deps.log('error', `a rollout could not go on, and is tried again: ${String(error)}`, { rollout: id, env });
    }
  }
}

/** Makes the next step of a rollout; false if there is none now. */
async function advance(deps: Dependencies, id: string): Promise<boolean> {
  const row = await findRollout(deps.store, id);
  if (row === null || isOver(row)) return false;
  // Counting takes long in a large env: nothing is locked for it unless there is something to do.
  const { event, progress } = await lookAt(deps, deps.store, row);
  if (event === null) {
    if (JSON.stringify(progress) !== row.progress) await refreshProgress(deps.store, row, progress);
    return false;
  }
  return deps.store.transaction().execute(async (work) => {
    await lockEnv(work, row.env);
    const locked = await findRollout(work, id);
    if (locked === null) return false;
    const { event: due } = await lookAt(deps, work, locked);
    if (due === null) return false;
    const caused = { row: locked, event: due, caller: byService(acts[due.type]) };
    return (await applyRolloutEvent(deps, work, caused)) !== null;
  });
}

async function lookAt(
  deps: Dependencies,
  store: Store,
  row: RolloutRow,
): Promise<{ event: RolloutEvent | null; progress: RolloutProgress }> {
  const progress = await countProgress(deps, store, row);
  const plan = JSON.parse(row.plan) as RolloutPlan;
  const times = { stateSince: row.state_since, now: deps.clock(), startedAt: deps.startedAt };
  const silenceMs = deps.settings.offline_after_s * 1000;
  return { event: nextEvent({ record: recordOf(row), plan, progress, ...times, silenceMs }), progress };
}
