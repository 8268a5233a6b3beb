import { type RawBuilder, sql } from 'kysely';
import type { PendingStep, PendingStepRow } from './database.ts';
import { inTransaction, type Store } from './openStore.ts';

/** No step is due later than this after it was added, claimed or failed. */
const LONGEST_WAIT_MS = 10 * 60_000;

/** Adds steps of a subject, due at a time; a step that is already pending restarts. */
export async function addPendingSteps(
  work: Store,
  subject: string,
  { steps, dueAt }: { steps: readonly PendingStep[]; dueAt: number },
): Promise<void> {
  const begin = { tries: 0, due_at: dueAt, error: null };
  await work
    .insertInto('pending_steps')
    .values(steps.map((step) => ({ subject, step, ...begin })))
    .onConflict((conflict) => conflict.columns(['subject', 'step']).doUpdateSet(begin))
    .execute();
}

/** Steps that are due, the longest waiting ones first. */
export function findDueSteps(store: Store, now: number, limit: number): Promise<PendingStepRow[]> {
  const due = store
    .selectFrom('pending_steps')
    .selectAll()
    .where(isDue('due_at', { now, longestMs: LONGEST_WAIT_MS }));
  return due.orderBy('due_at').orderBy('subject').orderBy('step').limit(limit).execute();
}

/** Claims a due step for one instance until a time; returns null if another instance claimed it first. */
export async function claimStep(store: Store, step: PendingStepRow, until: number): Promise<PendingStepRow | null> {
  const change = (work: Store) =>
    updateStep(work, step)
      .set(({ eb }) => ({ due_at: until, tries: eb('tries', '+', 1) }))
      .returningAll()
      .executeTakeFirst();
  return (await inTransaction(store, change)) ?? null;
}

/** Stores the error of a claimed step and the time of its next attempt, unless the claim has expired. */
export async function postponeStep(
  store: Store,
  claimed: PendingStepRow,
  { error, dueAt }: { error: string; dueAt: number },
): Promise<void> {
  await updateStep(store, claimed).set({ error, due_at: dueAt }).execute();
}

/** Removes a claimed step that has succeeded; returns false if the claim has expired. */
export async function removeStep(
  work: Store,
  { subject, step, due_at }: Pick<PendingStepRow, 'subject' | 'step' | 'due_at'>,
): Promise<boolean> {
  const deletion = work.deleteFrom('pending_steps').where('subject', '=', subject).where('step', '=', step);
  return (await deletion.where('due_at', '=', due_at).executeTakeFirstOrThrow()).numDeletedRows === 1n;
}

/** Removes a step that is not necessary any more. */
export async function cancelStep(work: Store, subject: string, step: PendingStep): Promise<void> {
  await work.deleteFrom('pending_steps').where('subject', '=', subject).where('step', '=', step).execute();
}

/** The pending steps of a subject. */
export function listPendingSteps(store: Store, subject: string): Promise<PendingStepRow[]> {
  return store.selectFrom('pending_steps').selectAll().where('subject', '=', subject).orderBy('step').execute();
}

/** Number of pending steps by step; steps without a pending one are omitted. */
export async function countPendingSteps(store: Store): Promise<Partial<Record<PendingStep, number>>> {
  const counts = store.selectFrom('pending_steps').select(['step', ({ fn }) => fn.countAll<number>().as('count')]);
  const rows = await counts.groupBy('step').execute();
  return Object.fromEntries(rows.map(({ step, count }) => [step, count]));
}

/** Updates the row of a step as it was read: another instance's change would have changed `due_at` too. */
function updateStep(store: Store, { subject, step, due_at }: PendingStepRow) {
  return store
    .updateTable('pending_steps')
    .where('subject', '=', subject)
    .where('step', '=', step)
    .where('due_at', '=', due_at);
}

/** The current time, and the longest interval by which an instance sets the times of a column ahead; milliseconds. */
export interface DueBounds {
  now: number;
  longestMs: number;
}

/**
 * Allowance in milliseconds for clock differences between instances and for the age of `now` after a wait. A time that
 * another instance has just set does not mean that a clock went back.
 */
const LEEWAY_MS = 5 * 60_000;

/** Whether the time in a column has passed, or is so far ahead that a clock must have gone back since it was set. */
export function isDue(column: string, { now, longestMs }: DueBounds): RawBuilder<boolean> {
  const time = sql.ref(column);
  return sql<boolean>`(${time} <= ${now} or ${time} > ${now + longestMs + LEEWAY_MS})`;
}
