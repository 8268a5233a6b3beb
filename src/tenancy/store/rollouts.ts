import { hostStates } from '../../../machines/backend.ts';
import { nextRollout, type RolloutEvent, type RolloutRecord } from '../../../machines/rollout.ts';
import type {
  Candidate,
  HostGroup,
  HostName,
  HostOutcome,
  Labels,
  RolloutPlan,
  RolloutProgress,
  RolloutRow,
} from './database.ts';
import { type DueBounds, isDue } from './pendingSteps.ts';
import { setDesiredSha } from './envs.ts';
import { inTransaction, type Store } from './openStore.ts';

/** Adds a rollout and makes it the current one of its environment. */
export async function insertRollout(work: Store, row: RolloutRow): Promise<void> {
  await work.insertInto('rollouts').values(row).execute();
  await work.updateTable('envs').set({ rollout_id: row.id }).where('name', '=', row.env).execute();
}

/** The row of a rollout; null if there is none. */
export async function findRollout(store: Store, id: string): Promise<RolloutRow | null> {
  return (await store.selectFrom('rollouts').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Rollouts of an environment, newest first. */
export function listRollouts(store: Store, env: string, limit: number): Promise<RolloutRow[]> {
  const query = store.selectFrom('rollouts').selectAll().where('env', '=', env);
  return query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
}

/** The rollouts of some environments, or of all (null), that are neither done nor aborted. */
export function listActiveRollouts(store: Store, envs: readonly string[] | null): Promise<RolloutRow[]> {
  const query = store
    .selectFrom('rollouts')
    .innerJoin('envs', 'envs.rollout_id', 'rollouts.id')
    .selectAll('rollouts')
    .orderBy('rollouts.id');
  return (envs === null ? query : query.where('rollouts.env', 'in', envs)).execute();
}

/** Stores the progress of a rollout. */
export async function setProgress(work: Store, id: string, progress: RolloutProgress): Promise<void> {
  await work
    .updateTable('rollouts')
    .set({ progress: JSON.stringify(progress) })
    .where('id', '=', id)
    .execute();
}

/** Like `setProgress` for a rollout that is not locked: does nothing if it has changed since it was read. */
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
 * Applies an event to a rollout whose environment is locked; returns null if its state does not allow the event. A
 * finished rollout makes its bundle the desired one.
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

/** A webhook is called again at each gate. */
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

/** Number of backends to change with one statement. */
const BACKENDS_AT_ONCE = 500;

/** The active hosts and swarms of an environment, sorted by id, and whether they have joined a rollout. */
export async function listCandidates(
  work: Store,
  { env, rolloutId }: { env: string; rolloutId: string },
): Promise<Candidate[]> {
  const rows = await work
    .selectFrom('backends')
    .select(['id', 'labels', 'state', 'rollout_id', 'swarm_id', 'follower'])
    .where('env', '=', env)
    .where('state', 'in', hostStates)
    .orderBy('id')
    .execute();
  const groups = [...Map.groupBy(rows, ({ id, swarm_id }) => swarm_id ?? id).values()];
  return groups.flatMap((group) => {
    const first = group.find(({ follower, state }) => follower === 0 && state === 'active');
    if (first === undefined) return [];
    const labels = group.map((row) => JSON.parse(row.labels) as Labels);
    return [{ ids: group.map(({ id }) => id), labels, hasJoined: first.rollout_id === rolloutId }];
  });
}

/** Adds backends to a wave of a rollout. */
export async function joinWave(
  work: Store,
  { rolloutId, wave }: { rolloutId: string; wave: number },
  ids: readonly string[],
): Promise<void> {
  for (let from = 0; from < ids.length; from += BACKENDS_AT_ONCE) {
    const joined = { rollout_id: rolloutId, rollout_wave: wave, rollout_outcome: 'waiting' } as const;
    await work
      .updateTable('backends')
      .set(({ eb }) => ({ ...joined, revision: eb('revision', '+', 1) }))
      .where('id', 'in', ids.slice(from, from + BACKENDS_AT_ONCE))
      .execute();
  }
}

/** Excuses the hosts of a rollout that have failed so far. */
export async function excuseFailures(work: Store, rolloutId: string): Promise<void> {
  await work
    .updateTable('backends')
    .set(({ eb }) => ({ rollout_outcome: 'excused', revision: eb('revision', '+', 1) }))
    .where('rollout_id', '=', rolloutId)
    .where('rollout_outcome', '=', 'failed')
    .execute();
}

/** The effect of a host's check-in or report on a rollout. */
export interface OutcomeChange {
  rolloutId: string;
  /** Returns the new outcome. */
  next: (outcome: HostOutcome) => HostOutcome;
}

/** Changes the outcome of a host in a rollout, unless it has joined another one since. */
export async function changeOutcome(work: Store, id: string, { rolloutId, next }: OutcomeChange): Promise<void> {
  for (;;) {
    const query = work.selectFrom('backends').select(['revision', 'rollout_outcome']).where('id', '=', id);
    const row = await query.where('rollout_id', '=', rolloutId).executeTakeFirst();
    const outcome = row?.rollout_outcome ?? null;
    if (row === undefined || outcome === null || next(outcome) === outcome) return;
    const { revision } = row;
    const update = work
      .updateTable('backends')
      .set({ rollout_outcome: next(outcome), revision: revision + 1 })
      .where('id', '=', id)
      .where('revision', '=', revision);
    if ((await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n) return;
  }
}

/**
 * The first failed backends of a rollout, by id; omits backends that are being retired, and lists a swarm as one of its
 * managers.
 */
export function listFailed(
  store: Store,
  { env, rolloutId, limit }: { env: string; rolloutId: string; limit: number },
): Promise<HostName[]> {
  const hosts = store.selectFrom('backends').select(['id', 'site']).where('env', '=', env);
  const failed = hosts.where('rollout_id', '=', rolloutId).where('rollout_outcome', '=', 'failed');
  return failed.where('follower', '=', 0).where('state', 'in', hostStates).orderBy('id').limit(limit).execute();
}

/** Counts the backends of an environment, a swarm once; `silent` are those that were last seen before a time. */
export function countHosts(
  store: Store,
  { env, rolloutId, seenBefore }: { env: string; rolloutId: string; seenBefore: number },
): Promise<HostGroup[]> {
  const hosts = store
    .selectFrom('backends')
    .select(['state', 'laptop'])
    .select(({ eb }) => [
      eb.case().when('rollout_id', '=', rolloutId).then(eb.ref('rollout_wave')).end().as('wave'),
      eb.case().when('rollout_id', '=', rolloutId).then(eb.ref('rollout_outcome')).end().as('outcome'),
      eb.case().when('last_seen_at', '<', seenBefore).then(1).else(0).end().as('silent'),
    ])
    .where('env', '=', env)
    .where('follower', '=', 0);
  return store
    .selectFrom(hosts.as('hosts'))
    .select(['wave', 'outcome', 'state', 'silent', 'laptop', ({ fn }) => fn.countAll<number>().as('hosts')])
    .groupBy(['wave', 'outcome', 'state', 'silent', 'laptop'])
    .execute();
}

/** Rollouts at gates whose webhooks are due to be called, the longest waiting ones first. */
export function findDueGates(store: Store, bounds: DueBounds, limit: number): Promise<RolloutRow[]> {
  const query = store.selectFrom('rollouts').selectAll().where('state', '=', 'gated');
  return query.where(isDue('gate_due_at', bounds)).orderBy('gate_due_at').orderBy('id').limit(limit).execute();
}

/** Claims a gate for one instance until a time; returns null if another instance claimed it first. */
export async function claimGate(store: Store, row: RolloutRow, until: number): Promise<RolloutRow | null> {
  const claim = (work: Store) =>
    updateGate(work, row)
      .set(({ eb }) => ({ gate_due_at: until, gate_tries: eb('gate_tries', '+', 1) }))
      .returningAll()
      .executeTakeFirst();
  return (await inTransaction(store, claim)) ?? null;
}

/** Stores the answer at a claimed gate and the time of the next call; returns false if the claim has expired. */
export async function settleGate(
  store: Store,
  claimed: RolloutRow,
  { dueAt, reason }: { dueAt: number; reason: string | null },
): Promise<boolean> {
  const update = updateGate(store, claimed).set({ gate_due_at: dueAt, gate_reason: reason });
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/** Updates the row of a gate as it was read: any other change would have changed `gate_due_at` too. */
function updateGate(store: Store, { id, gate_due_at }: RolloutRow) {
  return store.updateTable('rollouts').where('id', '=', id).where('gate_due_at', '=', gate_due_at);
}
