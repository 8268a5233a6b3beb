import { isDue, type DueBounds } from './dueTime.ts';
import type { Store } from './openStore.ts';
import type { RolloutRow } from './rolloutTable.ts';

/** Rollouts at gates whose webhooks are to be asked now, those that wait longest first. */
export function findDueGates(store: Store, bounds: DueBounds, limit: number): Promise<RolloutRow[]> {
  const query = store.selectFrom('rollouts').selectAll().where('state', '=', 'gated');
  return query.where(isDue('gate_due_at', bounds)).orderBy('gate_due_at').orderBy('id').limit(limit).execute();
}

/** Takes a gate until a time, for one instance alone; null if another one was faster. */
export async function claimGate(store: Store, row: RolloutRow, until: number): Promise<RolloutRow | null> {
  const claim = updateGate(store, row).set(({ eb }) => ({ gate_due_at: until, gate_tries: eb('gate_tries', '+', 1) }));
  return (await claim.returningAll().executeTakeFirst()) ?? null;
}

/** Keeps what a claimed gate was told and when its webhook is asked again; false if it is not the instance's any more. */
export async function settleGate(
  store: Store,
  claimed: RolloutRow,
  { dueAt, reason }: { dueAt: number; reason: string | null },
): Promise<boolean> {
  const update = updateGate(store, claimed).set({ gate_due_at: dueAt, gate_reason: reason });
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/** The row of a gate as it was read: whoever has changed it since has changed `gate_due_at` too. */
function updateGate(store: Store, { id, gate_due_at }: RolloutRow) {
  return store.updateTable('rollouts').where('id', '=', id).where('gate_due_at', '=', gate_due_at);
}
