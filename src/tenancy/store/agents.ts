import { sql } from 'kysely';
import { hostStates, nextBackend } from '../../../machines/backend.ts';
import type { RolloutState } from '../../../machines/rollout.ts';
import { type CheckInRequest, deferralOf, type Report } from '../../api/checkIn.rules.ts';
import { changeBackend, type LifeColumns, listManagers, recordOf } from './backends.ts';
import type { BackendRow, HostOutcome, Place, TroubleReason } from './database.ts';
import { prepareQuery, type Store } from './openStore.ts';
import { changeOutcome, type OutcomeChange } from './rollouts.ts';

/**
 * The columns of a backend that its calls need: its state, the desired bundle of its environment, and the rollout that
 * it has joined.
 */
export interface AgentRow extends LifeColumns, JoinedRollout, Pick<BackendRow, AgentColumn> {
  production: number;
  desired_sha: string | null;
  /** Bytes; null if there is no desired bundle. */
  desired_size: number | null;
  desired_emergency: number | null;
  /** The bundle from which the desired one differs only by its sequence; null for none. */
  desired_same_as: string | null;
  /** The sequence to which a rollback returns with the desired bundle; null for any other bundle. */
  desired_returns_to: number | null;
  /** When a restore held its environment; null if it is not held. */
  held_since: number | null;
  /** The recorded settings of its environment, as JSON; null if nothing was recorded. */
  expected: string | null;
}

type AgentColumn =
  | 'id'
  | 'revision'
  | 'env'
  | 'transport'
  | 'oldest_generation'
  | 'locked_at'
  | 'hosts'
  | 'cloned_at'
  | 'last_seen_at'
  | 'applied_sha'
  | 'applied_since'
  | 'state_since'
  | 'trouble'
  | 'rollout_id'
  | 'rollout_wave'
  | 'rollout_outcome'
  | 'swarm_id'
  | 'follower'
  | 'differing';

/** The rollout of its environment, if the wave of the backend has started; otherwise all fields are null. */
interface JoinedRollout {
  rollout_sha: string | null;
  rollout_state: RolloutState | null;
  /** Bytes of its bundle. */
  rollout_size: number | null;
  rollout_emergency: number | null;
  rollout_same_as: string | null;
  rollout_returns_to: number | null;
}

/** Reads a backend for one of its calls; null if there is none. */
export async function findAgent(store: Store, id: string): Promise<AgentRow | null> {
  const { rows } = await selectAgent(store, { id });
  return rows[0] ?? null;
}

const selectAgent = prepareQuery<{ id: string }, AgentRow>((store, parameter) =>
  store
    .selectFrom('backends')
    .innerJoin('envs', 'envs.name', 'backends.env')
    .leftJoin('bundle_trusts', 'bundle_trusts.env', 'envs.name')
    .leftJoin('bundles', 'bundles.sha256', 'envs.desired_sha')
    .leftJoin('rollouts', (join) =>
      join
        .onRef('rollouts.id', '=', 'envs.rollout_id')
        .onRef('rollouts.id', '=', 'backends.rollout_id')
        .onRef('backends.rollout_wave', '<', 'rollouts.started'),
    )
    .leftJoin('bundles as rollout_bundles', 'rollout_bundles.sha256', 'rollouts.sha256')
    .select(['backends.id', 'revision', 'backends.env', 'backends.state', 'generation', 'purge_volumes', 'finished'])
    .select([
      'transport',
      'oldest_generation',
      'locked_at',
      'hosts',
      'cloned_at',
      'last_seen_at',
      'applied_sha',
      'applied_since',
      'backends.state_since',
      'trouble',
      'envs.production',
      'desired_sha',
      'held_since',
    ])
    .select(['bundles.size_bytes as desired_size', 'bundles.emergency as desired_emergency'])
    .select(['bundles.same_as as desired_same_as', 'rollout_bundles.same_as as rollout_same_as'])
    .select(['bundles.returns_to as desired_returns_to', 'rollout_bundles.returns_to as rollout_returns_to'])
    .select(['backends.rollout_id', 'rollout_wave', 'rollout_outcome', 'swarm_id', 'follower'])
    .select(['differing', 'bundle_trusts.trust as expected'])
    .select([
      'rollouts.sha256 as rollout_sha',
      'rollouts.state as rollout_state',
      'rollout_bundles.size_bytes as rollout_size',
      'rollout_bundles.emergency as rollout_emergency',
    ])
    .where('backends.id', '=', parameter('id')),
);

/** The facts of a check-in, and the token of the call. */
export interface CheckInFacts {
  checkIn: CheckInRequest;
  token: { accessor: string; generation: number };
  now: number;
  /** The hosts that have used the token, if they have changed. */
  hosts?: Pick<BackendRow, 'hosts' | 'cloned_at'>;
  /** The progress of the host with the bundle of a rollout; unchanged by default. */
  outcome?: HostOutcome | null;
  /** Whether the settings of the host differ from the recorded ones; unchanged by default. */
  differing?: number | null;
}

/**
 * Stores a check-in of a backend as it was read, in one statement. Returns false if the backend has changed since, or
 * its state does not allow a check-in: the caller must read it again.
 */
export async function recordCheckIn(
  store: Store,
  read: AgentRow,
  { checkIn, token, now, hosts = read, outcome = read.rollout_outcome, differing = read.differing }: CheckInFacts,
): Promise<boolean> {
  const next = nextBackend(recordOf(read), { type: 'CHECK_IN' });
  if (next === null) return false;
  const facts = {
    check_in: JSON.stringify(checkIn),
    applied_sha: checkIn.applied_sha,
    healthy: Number(checkIn.healthy),
    agent_version: printable(checkIn.agent.version),
    host_name: printable(checkIn.host.name),
    deferred_by: deferralOf(checkIn),
    differing,
  };
  const { numAffectedRows } = await updateAgent(store, {
    ...facts,
    id: read.id,
    revision: read.revision,
    state: next.state,
    state_since: next.state === read.state ? read.state_since : now,
    applied_since: checkIn.applied_sha === read.applied_sha ? read.applied_since : now,
    now,
    accessor: token.accessor,
    token_generation: token.generation,
    oldest_generation: Math.max(token.generation, read.oldest_generation),
    outcome,
    hosts: hosts.hosts,
    cloned_at: hosts.cloned_at,
  });
  return numAffectedRows === 1n;
}

/** Shortens and cleans the text of a host so that every store can store and sort it. */
function printable(text: string): string {
  return text.replace(/[^ -~]/g, '?').slice(0, 64);
}

interface CheckInColumns extends Pick<
  BackendRow,
  | 'id'
  | 'revision'
  | 'state'
  | 'state_since'
  | 'check_in'
  | 'applied_sha'
  | 'applied_since'
  | 'healthy'
  | 'agent_version'
  | 'host_name'
  | 'deferred_by'
  | 'hosts'
  | 'cloned_at'
  | 'differing'
> {
  now: number;
  accessor: string;
  token_generation: number;
  /** A restored store accepts several generations, until the host shows the newest one. */
  oldest_generation: number;
  outcome: HostOutcome | null;
}

const updateAgent = prepareQuery<CheckInColumns, never>((store, parameter) =>
  store
    .updateTable('backends')
    .set((set) => ({
      revision: set('revision', '+', 1),
      state: parameter('state'),
      state_since: parameter('state_since'),
      last_seen_at: parameter('now'),
      check_in: parameter('check_in'),
      applied_sha: parameter('applied_sha'),
      applied_since: parameter('applied_since'),
      trouble_since: sql<
        number | null
      >`case when ${parameter('healthy')} = 0 then coalesce(trouble_since, ${parameter('now')})
        when trouble is null then null else trouble_since end`,
      healthy: parameter('healthy'),
      agent_version: parameter('agent_version'),
      host_name: parameter('host_name'),
      deferred_by: parameter('deferred_by'),
      differing: parameter('differing'),
      token_accessor: parameter('accessor'),
      token_generation: parameter('token_generation'),
      oldest_generation: parameter('oldest_generation'),
      rollout_outcome: parameter('outcome'),
      hosts: parameter('hosts'),
      cloned_at: parameter('cloned_at'),
    }))
    .where('id', '=', parameter('id'))
    .where('revision', '=', parameter('revision')),
);

/**
 * Stores that a host was refused, without the facts of its check-in. Returns false if the backend has changed since it
 * was read.
 */
export async function recordRefusal(
  work: Store,
  { id, revision }: Pick<AgentRow, 'id' | 'revision'>,
  hosts: Pick<BackendRow, 'hosts' | 'cloned_at'>,
): Promise<boolean> {
  const update = work.updateTable('backends').set({ ...hosts, revision: revision + 1 });
  const { numUpdatedRows } = await update
    .where('id', '=', id)
    .where('revision', '=', revision)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** Updates the time at which a backend was last seen. */
export async function recordHeartbeat(store: Store, id: string, now: number): Promise<void> {
  await updateLastSeen(store, { id, now });
}

const updateLastSeen = prepareQuery<{ id: string; now: number }, never>((store, parameter) =>
  store
    .updateTable('backends')
    .set({ last_seen_at: parameter('now') })
    .where('id', '=', parameter('id')),
);

/**
 * Stores that a host has applied a bundle since its last check-in, and that it is healthy. A check-in that has reported
 * the bundle already is newer.
 */
export async function recordApplied(
  work: Store,
  id: string,
  { appliedSha, now }: { appliedSha: string; now: number },
): Promise<void> {
  await work
    .updateTable('backends')
    .set({ applied_sha: appliedSha, applied_since: now, healthy: 1 })
    .set({ trouble_since: sql<number | null>`case when trouble is null then null else trouble_since end` })
    .where('id', '=', id)
    .where((eb) => eb.or([eb('applied_sha', 'is', null), eb('applied_sha', '!=', appliedSha)]))
    .execute();
}

/** A problem that a report shows, with its shortened words; null for none. */
interface ReportedTrouble {
  trouble: string | null;
  reason: TroubleReason | null;
  now: number;
}

/**
 * Stores the problem that the newest report of a backend shows; returns false if it is unchanged. The time of a problem
 * is kept by each that follows without interruption.
 */
export async function setTrouble(work: Store, id: string, { trouble, reason, now }: ReportedTrouble): Promise<boolean> {
  const trouble_reason = reason && JSON.stringify(reason);
  const trouble_since =
    trouble === null
      ? sql<number | null>`case when healthy = 0 then coalesce(trouble_since, ${now}) end`
      : sql<number | null>`coalesce(trouble_since, ${now})`;
  const update = work.updateTable('backends').set({ trouble, trouble_since }).where('id', '=', id);
  const { numUpdatedRows } = await update.where('trouble', 'is distinct from', trouble).executeTakeFirstOrThrow();
  const words = work.updateTable('backends').set({ trouble_reason }).where('id', '=', id);
  await words.where('trouble_reason', 'is distinct from', trouble_reason).execute();
  return numUpdatedRows === 1n;
}

/** A page of the newest check-ins of the hosts that should run an environment's bundles, by id of the backend. */
export async function listCheckIns(
  store: Store,
  { env, after, limit }: { env: string; after: string | null; limit: number },
): Promise<Pick<BackendRow, 'id' | 'site' | 'check_in' | 'differing'>[]> {
  let query = store
    .selectFrom('backends')
    .select(['id', 'site', 'check_in', 'differing'])
    .where('env', '=', env)
    .where('state', 'in', hostStates)
    .orderBy('id')
    .limit(limit);
  if (after !== null) query = query.where('id', '>', after);
  return query.execute();
}

/** Stores whether the settings of the host of a backend differ from the recorded ones. */
export async function setDiffering(work: Store, id: string, differing: number | null): Promise<void> {
  await work.updateTable('backends').set({ differing }).where('id', '=', id).execute();
}

/** A report, its time, and its effect on the host in a rollout; null outside of a rollout. */
interface Receipt {
  report: Report;
  now: number;
  rollout?: OutcomeChange | null;
}

/**
 * Stores a report of a backend, once for each `report_id`; returns false if it was already stored. A `down` report
 * continues the retirement in the same transaction. If a swarm's leader sends it, it continues the retirement of all
 * managers, whose environment is locked.
 */
export async function addReport(work: Store, backendId: string, receipt: Receipt): Promise<boolean> {
  const { report, now, rollout = null } = receipt;
  const { report_id, outcome } = report;
  const values = { report_id, backend_id: backendId, received_at: now, outcome, body: JSON.stringify(report) };
  const insert = work
    .insertInto('reports')
    .values(values)
    .onConflict((conflict) => conflict.doNothing());
  if ((await insert.executeTakeFirstOrThrow()).numInsertedOrUpdatedRows === 0n) return false;
  if (rollout !== null) await changeOutcome(work, backendId, rollout);
  if (outcome === 'down') await finishDown(work, backendId, now);
  return true;
}

async function finishDown(work: Store, id: string, now: number): Promise<void> {
  const change = { event: { type: 'REPORT_DOWN' }, now, columns: { down_reported: 1 } } as const;
  const row = await changeBackend(work, id, change);
  if (row === null) return noteLateDown(work, id);
  for (const manager of await listManagers(work, row)) await changeBackend(work, manager.id, change);
}

/** The retirement of a host did not wait for its report. */
async function noteLateDown(work: Store, id: string): Promise<void> {
  const update = work.updateTable('backends').set({ down_reported: 1 }).where('id', '=', id);
  await update.where('state', '=', 'finishing').execute();
}

/** A report as it was received, in milliseconds since 1970. */
export interface ReceivedReport {
  receivedAt: number;
  report: Report;
}

/** A page of reports of a backend, newest first; `before` is the position of the previous page's last report. */
export async function listReports(
  store: Store,
  backendId: string,
  { before, limit }: { before?: Place | undefined; limit: number },
): Promise<ReceivedReport[]> {
  const query = store
    .selectFrom('reports')
    .select(['received_at', 'body'])
    .where('backend_id', '=', backendId)
    .orderBy('received_at', 'desc')
    .orderBy('report_id', 'desc')
    .limit(limit);
  const page = before
    ? query.where((where) =>
        where(where.refTuple('received_at', 'report_id'), '<', where.tuple(before.time, before.id)),
      )
    : query;
  const rows = await page.execute();
  return rows.map(({ received_at, body }) => ({ receivedAt: received_at, report: JSON.parse(body) as Report }));
}

/** Deletes up to `limit` reports that were received before a time; returns how many. */
export async function deleteReports(store: Store, before: number, limit: number): Promise<number> {
  const all = store.selectFrom('reports').select(['backend_id', 'report_id']).orderBy('received_at');
  const old = all.where('received_at', '<', before).limit(limit);
  const deletion = store
    .deleteFrom('reports')
    .where((where) => where(where.refTuple('backend_id', 'report_id'), 'in', old.$asTuple('backend_id', 'report_id')));
  return Number((await deletion.executeTakeFirstOrThrow()).numDeletedRows);
}
