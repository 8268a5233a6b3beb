import { nextRollout, type RolloutEvent, type RolloutRecord } from '../../../machines/rollout.ts';
import type { RolloutPlan, RolloutProgress, RolloutRow } from './rolloutTable.ts';
import { setDesiredSha } from './envs.ts';
import type { Store } from './openStore.ts';

/** Adds a rollout, which is then the one of its env. */
export async function insertRollout(work: Store, row: RolloutRow): Promise<void> {
  await work.insertInto('rollouts').values(row).execute();
  await work.updateTable('envs').set({ rollout_id: row.id }).where('name', '=', row.env).execute();
}

/** The row of a rollout; null if there is none. */
export async function findRollout(store: Store, id: string): Promise<RolloutRow | null> {
  return (await store.selectFrom('rollouts').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Rollouts of an env, newest first. */
export function listRollouts(store: Store, env: string, limit: number): Promise<RolloutRow[]> {
  const query = store.selectFrom('rollouts').selectAll().where('env', '=', env);
  return query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
}

/** The rollouts of some envs, or of all (null), that are neither done nor aborted. */
export function listActiveRollouts(store: Store, envs: readonly string[] | null): Promise<RolloutRow[]> {
  const query = store
    .selectFrom('rollouts')
    .innerJoin('envs', 'envs.rollout_id', 'rollouts.id')
    .selectAll('rollouts')
    .orderBy('rollouts.id');
  return (envs === null ? query : query.where('rollouts.env', 'in', envs)).execute();
}

/** Keeps where a rollout is. */
export async function setProgress(work: Store, id: string, progress: RolloutProgress): Promise<void> {
  await work
    .updateTable('rollouts')
    .set({ progress: JSON.stringify(progress) })
    .where('id', '=', id)
    .execute();
}

/** As `setProgress` of a rollout that is not locked: nothing if it has changed since it was read. */
export async function refreshProgress(
  store: Store,
  { id, state, state_since, progress }: RolloutRow,
  counted: RolloutProgress,
): Promise<void> {
  await store
    .updateTable('rollouts')
    .set({ progress: JSON.stringify(counted) })
    .where('id', '=', id)
    .where('state', '=', state)
    .where('state_since', '=', state_since)
    .where('progress', '=', progress)
    .execute();
}

/**
 * Applies an event to a rollout whose env is locked; null if its state does not allow the event. One that is done makes its
 * bundle the desired one.
 */
export async function changeRollout(
  work: Store,
  row: RolloutRow,
  { event, now }: { event: RolloutEvent; now: number },
): Promise<RolloutRow | null> {
  const next = nextRollout(recordOf(row), event);
  if (next === null) return null;
  const { state, started, haltedBy: halted_by } = next;
  const changed = { state, started, halted_by, state_since: now, ...gateColumns(row, { state, now }) };
  await work.updateTable('rollouts').set(changed).where('id', '=', row.id).execute();
  if (state === 'done') await setDesiredSha(work, row.env, row.sha256);
  if (isOver(next)) await work.updateTable('envs').set({ rollout_id: null }).where('name', '=', row.env).execute();
  return { ...row, ...changed };
}

/** A webhook is asked anew at each gate. */
function gateColumns({ plan }: RolloutRow, { state, now }: { state: RolloutRecord['state']; now: number }) {
  const { gate } = JSON.parse(plan) as RolloutPlan;
  if (state !== 'gated' || gate !== 'webhook') return { gate_due_at: null };
  return { gate_due_at: now, gate_tries: 0, gate_reason: null };
}

/** True for a rollout after which another one may start. */
export function isOver({ state }: Pick<RolloutRecord, 'state'>): boolean {
  return state === 'done' || state === 'aborted';
}

/** The record of a rollout, from its row. */
export function recordOf({ state, started, halted_by, plan }: RolloutRow): RolloutRecord {
  const { waves, gate } = JSON.parse(plan) as RolloutPlan;
  return { state, started, waves: waves.length, isGated: gate !== 'none', haltedBy: halted_by };
}
