import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { hostStates } from '../../../machines/backend.ts';
import { nextRollout, type RolloutEvent, type RolloutRecord } from '../../../machines/rollout.ts';
import type {
  Candidate,
  HostGroup,
  HostName,
  HostOutcome,
  Labels,
  RolloutMember,
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
  const wave_started_at = event.type === 'START_WAVE' ? now : row.wave_started_at;
  const changed = { state, started, halted_by, wave_started_at, state_since: now, ...gateColumns(row, { state, now }) };
  await work.updateTable('rollouts').set(changed).where('id', '=', row.id).execute();
  if (state === 'done') await setDesiredSha(work, row.env, row.sha256, { since: row.created_at });
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

/**
 * The hosts and swarms of an environment, and whether they have a wave of a rollout, or one of its first waves. Active
 * ones come first, excused ones last; their order is drawn by the id of the rollout, so that another rollout starts with
 * other hosts.
 */
export async function listCandidates(
  work: Store,
  { env, rolloutId, started = Infinity }: { env: string; rolloutId: string; started?: number },
): Promise<Candidate[]> {
  const rows = await work
    .selectFrom('backends')
    .select(['id', 'labels', 'state', 'rollout_id', 'rollout_wave', 'rollout_outcome', 'swarm_id', 'follower'])
    .select('applied_sha')
    .where('env', '=', env)
    .where('state', 'in', hostStates)
    .orderBy('id')
    .execute();
  const groups = [...Map.groupBy(rows, ({ id, swarm_id }) => swarm_id ?? id).values()];
  const drawn = groups.map((group) => {
    const first = group.find(({ follower }) => follower === 0) ?? group[0];
    const labels = group.map((row) => JSON.parse(row.labels) as Labels);
    const hasJoined = first?.rollout_id === rolloutId && (first.rollout_wave ?? 0) < started;
    const applied = [...new Set(group.map(({ applied_sha }) => applied_sha))];
    const candidate = { ids: group.map(({ id }) => id), labels, hasJoined, applied };
    const isActive = group.some(({ state }) => state === 'active');
    const isExcused = first?.rollout_id === rolloutId && first.rollout_outcome === 'excused';
    return { candidate, key: `${isExcused ? 2 : isActive ? 0 : 1}${digestOf(`${rolloutId} ${candidate.ids.join()}`)}` };
  });
  return drawn.toSorted((one, other) => (one.key < other.key ? -1 : 1)).map(({ candidate }) => candidate);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Stores the plan of a rollout. */
export async function setPlan(work: Store, id: string, plan: RolloutPlan): Promise<void> {
  await work
    .updateTable('rollouts')
    .set({ plan: JSON.stringify(plan) })
    .where('id', '=', id)
    .execute();
}

/** Stores that operators were notified of the hosts for which a rollout waits in its present state. */
export async function setWaitingTold(work: Store, { id, state_since }: RolloutRow): Promise<void> {
  await work.updateTable('rollouts').set({ waiting_told: state_since }).where('id', '=', id).execute();
}

/** Assigns backends to a wave of a rollout. */
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

/** Excuses some hosts of a rollout: it does not wait for them, and ignores their failures until they succeed. */
export async function excuseHosts(work: Store, rolloutId: string, ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += BACKENDS_AT_ONCE) {
    await work
      .updateTable('backends')
      .set(({ eb }) => ({ rollout_outcome: 'excused', revision: eb('revision', '+', 1) }))
      .where('rollout_id', '=', rolloutId)
      .where('id', 'in', ids.slice(from, from + BACKENDS_AT_ONCE))
      .execute();
  }
}

/** The hosts of a rollout that are excused in the waves from a number on, which have not started. */
export async function listExcused(work: Store, rolloutId: string, wave: number): Promise<string[]> {
  const query = work.selectFrom('backends').select('id').where('rollout_id', '=', rolloutId);
  const rows = await query.where('rollout_wave', '>=', wave).where('rollout_outcome', '=', 'excused').execute();
  return rows.map(({ id }) => id);
}

/** Excuses the hosts of the started waves that count against the limit: they have failed, or fell silent. */
export async function excuseFailures(
  work: Store,
  { id, env, sha256, started, wave_started_at }: RolloutRow,
  seenBefore: number,
): Promise<void> {
  await work
    .updateTable('backends')
    .set(({ eb }) => ({ rollout_outcome: 'excused', revision: eb('revision', '+', 1) }))
    .where('rollout_id', '=', id)
    .where('rollout_wave', '<', started)
    .where((eb) =>
      eb.or([
        eb('rollout_outcome', '=', 'failed'),
        eb.and([eb('rollout_outcome', '=', 'succeeded'), isUnhealthy({ env, sha256 })]),
        eb.and([
          eb('rollout_outcome', 'in', ['waiting', 'succeeded']),
          eb('laptop', '=', 0),
          eb.or([eb('last_seen_at', '<', seenBefore), eb('state', '=', 'offline')]),
          eb.or([eb('rollout_outcome', '=', 'succeeded'), eb('last_seen_at', '>=', wave_started_at ?? 0)]),
        ]),
      ]),
    )
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

/** The times that decide the status of hosts, in milliseconds since 1970. */
export interface StatusTimes {
  /** Hosts that were last seen before are silent. */
  seenBefore: number;
  /** When the current wave started. */
  reachedSince: number;
  /** Hosts that were seen since then count as verified. */
  freshSince: number;
}

/** A rollout of an environment, and the times for the status of its hosts. */
export interface MemberQuery extends StatusTimes {
  env: string;
  rolloutId: string;
  sha256: string;
}

/**
 * True for a backend whose last check-in reported the content of a rollout, and that it is unhealthy. Its health
 * with another bundle does not count.
 */
function isUnhealthy({ env, sha256 }: { env: string; sha256: string }) {
  return sql<boolean>`(healthy = 0 and applied_sha in (
    select sha256 from bundles where bundles.env = ${env} and coalesce(same_as, sha256) = (
      select coalesce(same_as, sha256) from bundles where sha256 = ${sha256})))`;
}

/** The columns that decide the status of backends of an environment in a rollout; a swarm is one of its managers. */
function memberQuery(store: Store, { env, rolloutId, sha256, seenBefore, reachedSince, freshSince }: MemberQuery) {
  return store
    .selectFrom('backends')
    .select(['backends.state', 'laptop'])
    .select((eb) => [
      eb.case().when('rollout_id', '=', rolloutId).then(eb.ref('rollout_wave')).end().as('wave'),
      eb.case().when('rollout_id', '=', rolloutId).then(eb.ref('rollout_outcome')).end().as('outcome'),
      eb.case().when('last_seen_at', '<', seenBefore).then(1).else(0).end().as('silent'),
      eb.case().when('last_seen_at', '>=', reachedSince).then(1).else(0).end().as('reached'),
      eb.case().when('last_seen_at', '>=', freshSince).then(1).else(0).end().as('fresh'),
      eb.case().when(isUnhealthy({ env, sha256 })).then(0).else(1).end().as('healthy'),
    ])
    .where('env', '=', env)
    .where('follower', '=', 0);
}

/** Hosts of a rollout to list. */
export interface MemberFilter {
  /** From 0. */
  wave?: number;
  outcomes?: readonly HostOutcome[];
  limit: number;
}

/** The backends of a rollout by wave, site and id; omits those that are being retired. */
export function listMembers(
  store: Store,
  { wave, outcomes, limit, ...query }: MemberQuery & MemberFilter,
): Promise<RolloutMember[]> {
  const all = memberQuery(store, query)
    .select(['id', 'site', 'host_name', 'last_seen_at', 'deferred_by'])
    .where('rollout_id', '=', query.rolloutId)
    .where('backends.state', 'in', hostStates);
  const ofWave = wave === undefined ? all : all.where('rollout_wave', '=', wave);
  const some = outcomes === undefined ? ofWave : ofWave.where('rollout_outcome', 'in', outcomes);
  return some.orderBy('rollout_wave').orderBy('site').orderBy('id').limit(limit).execute();
}

/**
 * The first hosts, by id, that count as failed: by their outcome, or because they run the bundle and are unhealthy.
 */
export function listFailed(store: Store, { limit, ...query }: MemberQuery & { limit: number }): Promise<HostName[]> {
  return store
    .selectFrom('backends')
    .select(['id', 'site', 'host_name'])
    .where('env', '=', query.env)
    .where('rollout_id', '=', query.rolloutId)
    .where((eb) =>
      eb.or([
        eb('rollout_outcome', '=', 'failed'),
        eb.and([eb('rollout_outcome', '=', 'succeeded'), isUnhealthy(query)]),
      ]),
    )
    .where('follower', '=', 0)
    .where('state', 'in', hostStates)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Counts the backends of an environment that are equivalent for a rollout, a swarm once. */
export function countHosts(store: Store, query: MemberQuery): Promise<HostGroup[]> {
  const columns = ['wave', 'outcome', 'state', 'silent', 'laptop', 'healthy', 'reached', 'fresh'] as const;
  return store
    .selectFrom(memberQuery(store, query).as('hosts'))
    .select([...columns, ({ fn }) => fn.countAll<number>().as('hosts')])
    .groupBy(columns)
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
