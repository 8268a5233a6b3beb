import type { RolloutRow } from '../../store/rolloutTable.ts';
import { lockEnv } from '../../store/envs.ts';
import type { Store } from '../../store/openStore.ts';
import { findRollout, listRollouts } from '../../store/rollouts.ts';
import { conflict, notFound } from '../apiError.ts';
import type { Dependencies } from '../dependencies.ts';
import type { AuditCaller } from '../operator.ts';
import { applyRolloutEvent, type CausedEvent } from './rolloutEvent.ts';
import { rolloutView, type RolloutView } from './rolloutViews.ts';

/** An act on the rollout of an env. */
export interface RolloutAct {
  caller: AuditCaller;
  env: string;
}

/** Halts the rollout of an env; throws 404, and 409 `ROLLOUT_STATE` if it is halted or over. */
export function haltRollout(deps: Dependencies, act: RolloutAct): Promise<RolloutView> {
  return change(deps, act, () => ({ type: 'HALT', by: 'operator' }));
}

/** Goes on with a halted rollout, excusing its failures until now; throws 404, and 409 `ROLLOUT_STATE` for any other. */
export function resumeRollout(deps: Dependencies, act: RolloutAct): Promise<RolloutView> {
  return change(deps, act, () => ({ type: 'RESUME' }));
}

/** Lets a rollout pass the gate of a wave, counted from 1; throws 404, and 409 `ROLLOUT_STATE` if it does not wait there. */
export function passGate(deps: Dependencies, { wave, ...act }: RolloutAct & { wave: number }): Promise<RolloutView> {
  return change(deps, act, ({ started }) => (started === wave ? { type: 'PASS_GATE' } : null));
}

async function change(
  deps: Dependencies,
  { caller, env }: RolloutAct,
  eventOf: (row: RolloutRow) => CausedEvent['event'] | null,
): Promise<RolloutView> {
  const row = await deps.store.transaction().execute(async (work) => {
    const current = await lockRollout(work, env);
    const event = eventOf(current);
    const changed = event && (await applyRolloutEvent(deps, work, { row: current, event, caller }));
    if (changed === null) throw wrongState(current);
    return changed;
  });
  return rolloutView(row, deps.clock());
}

/** Locks an env with a rollout; throws 404 without one, and 409 if the newest one is over. */
export async function lockRollout(work: Store, env: string): Promise<RolloutRow> {
  const row = await lockEnv(work, env);
  if (row === null) throw notFound('env');
  const current = row.rollout_id === null ? null : await findRollout(work, row.rollout_id);
  if (current !== null) return current;
  const [newest] = await listRollouts(work, env, 1);
  throw newest === undefined ? notFound('rollout') : wrongState(newest);
}

/** The refusal of an act that the state of a rollout does not allow. */
export function wrongState({ env, state, started }: RolloutRow) {
  const message = `the rollout is ${state}, and has started ${started} waves`;
  return conflict({ code: 'ROLLOUT_STATE', message, env });
}
