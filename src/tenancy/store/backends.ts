import { randomUUID } from 'node:crypto';
import {
  type BackendEvent,
  type BackendRecord,
  type BackendState,
  finishingSteps,
  hostStates,
  newBackend,
  nextBackend,
} from '../../../machines/backend.ts';
import type { ToldSwarm } from '../../api/checkIn.rules.ts';
import type { BackendRow, BundleRow, HostHistory, HostName, Labels } from './database.ts';
import type { Store } from './openStore.ts';
import { addPendingSteps } from './pendingSteps.ts';

/** Fields of a new backend. */
export interface BackendFields {
  env: string;
  site: string;
  laptop: boolean;
  transport: BackendRow['transport'];
  labels?: Labels;
  /** The name it is added by. */
  name?: string;
}

/** An event of a backend at a time, with further columns to set if its state allows the event. */
interface BackendChange {
  event: BackendEvent;
  now: number;
  columns?: Partial<BackendRow>;
  /** Whether the event still applies to the current row. */
  when?: (row: BackendRow) => boolean;
}

/** Creates a backend in an existing environment; returns its id. */
export async function createBackend(
  store: Store,
  { labels = {}, laptop, name, ...fields }: BackendFields,
  now: number,
): Promise<string> {
  const id = randomUUID();
  const search = searchTextOf(fields.site, labels);
  const told = { laptop: Number(laptop), labels: JSON.stringify(labels), search };
  const named = name === undefined ? {} : { host_name: name, added_as: name };
  const row = { id, ...fields, ...told, created_at: now, state_since: now };
  const token = { token_accessor: null, token_generation: null };
  const unseen = {
    revision: 0,
    oldest_generation: 0,
    last_seen_at: null,
    check_in: null,
    healthy: null,
    applied_sha: null,
    mesh_identity: null,
    trouble: null,
    down_reported: 0,
    ...token,
  };
  await store
    .insertInto('backends')
    .values({ ...row, ...named, ...unseen, ...columnsOf(newBackend) })
    .execute();
  return id;
}

/** Replaces the labels of a backend, whose site never changes. */
export async function setLabels(
  work: Store,
  { id, site }: Pick<BackendRow, 'id' | 'site'>,
  labels: Labels,
): Promise<void> {
  await work
    .updateTable('backends')
    .set({ labels: JSON.stringify(labels), search: searchTextOf(site, labels) })
    .where('id', '=', id)
    .execute();
}

/** Locks a backend at a time, which keeps an earlier one, or unlocks it with null. */
export async function setLock(work: Store, id: string, now: number | null): Promise<void> {
  await work
    .updateTable('backends')
    .set(({ eb, fn }) => ({
      locked_at: now === null ? null : fn.coalesce('locked_at', eb.val(now)),
      revision: eb('revision', '+', 1),
    }))
    .where('id', '=', id)
    .execute();
}

/** Replaces the hosts of a backend as it was read, and ends its conflict; returns false if it has changed since. */
export async function setHosts(
  work: Store,
  { id, revision }: Pick<BackendRow, 'id' | 'revision'>,
  hosts: HostHistory | null,
): Promise<boolean> {
  const columns = { cloned_at: null, revision: revision + 1, ...(hosts && { hosts: JSON.stringify(hosts) }) };
  const update = work.updateTable('backends').set(columns).where('id', '=', id).where('revision', '=', revision);
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/** Backends with a conflict between hosts, in some environments or in all (null). */
export function listCloned(
  store: Store,
  envs: readonly string[] | null,
): Promise<Pick<BackendRow, 'id' | 'env' | 'site' | 'cloned_at'>[]> {
  const query = store
    .selectFrom('backends')
    .select(['id', 'env', 'site', 'cloned_at'])
    .where('cloned_at', 'is not', null)
    .orderBy('env')
    .orderBy('id');
  return (envs === null ? query : query.where('env', 'in', envs)).execute();
}

/** The row of a backend; null if there is none. */
export async function findBackend(store: Store, id: string): Promise<BackendRow | null> {
  return (await store.selectFrom('backends').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Numbers of backends by state. */
export async function countBackendsByState(store: Store): Promise<Partial<Record<BackendState, number>>> {
  const counts = store.selectFrom('backends').select(['state', ({ fn }) => fn.countAll<number>().as('count')]);
  const rows = await counts.groupBy('state').execute();
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

/** Applies an event; returns null if there is no such backend or its state does not allow the event. */
export function applyEvent(store: Store, id: string, change: BackendChange): Promise<BackendRow | null> {
  return store.transaction().execute((work) => changeBackend(work, id, change));
}

/** Ids of active backends that were last seen before a time, the longest silent ones first. */
export async function findSilent(
  store: Store,
  seenBefore: { servers: number; laptops: number },
  limit: number,
): Promise<string[]> {
  const rows = await store
    .selectFrom('backends')
    .select('id')
    .where('state', '=', 'active')
    .where((where) =>
      where.or([
        where.and([where('laptop', '=', 0), where('last_seen_at', '<', seenBefore.servers)]),
        where.and([where('laptop', '=', 1), where('last_seen_at', '<', seenBefore.laptops)]),
      ]),
    )
    .orderBy('last_seen_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Ids of retiring backends that have neither been seen nor been asked to retire since a time. */
export async function findExpiredRetirements(store: Store, before: number, limit: number): Promise<string[]> {
  const rows = await store
    .selectFrom('backends')
    .select('id')
    .where('state', '=', 'retiring')
    .where('last_seen_at', '<', before)
    .where('state_since', '<', before)
    .orderBy('last_seen_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Like `applyEvent`, within a transaction, and also returns the previous state; the finishing steps become due when
 * finishing starts.
 */
export async function changeBackend(
  work: Store,
  id: string,
  { event, now, columns = {}, when = () => true }: BackendChange,
): Promise<(BackendRow & { previous: BackendState }) | null> {
  for (;;) {
    const row = await work.selectFrom('backends').selectAll().where('id', '=', id).executeTakeFirst();
    const next = row && when(row) && nextBackend(recordOf(row), event);
    if (!next) return null;
    const { revision, state } = row;
    const since = next.state === state ? {} : { state_since: now };
    const accepted =
      next.generation === row.generation ? {} : { oldest_generation: next.generation, kits: row.kits + 1 };
    const changed = { ...columns, ...columnsOf(next), ...since, ...accepted, revision: revision + 1 };
    const update = work.updateTable('backends').set(changed).where('id', '=', id).where('revision', '=', revision);
    // No row: another instance has changed the backend since it was read.
    if ((await update.executeTakeFirstOrThrow()).numUpdatedRows === 0n) continue;
    if (next.state === 'finishing' && state !== 'finishing') {
      await addPendingSteps(work, id, { steps: finishingSteps, dueAt: now });
      await handOver(work, row);
    }
    return { ...row, ...changed, previous: state };
  }
}

/** Columns that store a backend's lifecycle. */
export type LifeColumns = Pick<BackendRow, 'state' | 'generation' | 'purge_volumes' | 'finished'>;

/** The lifecycle record of a backend, from its row. */
export function recordOf({ state, generation, purge_volumes, finished }: LifeColumns): BackendRecord {
  return {
    state,
    generation,
    purgeVolumes: purge_volumes === 1,
    finished: JSON.parse(finished) as BackendRecord['finished'],
  };
}

/** The columns of a lifecycle record. */
function columnsOf({ state, generation, purgeVolumes, finished }: BackendRecord): LifeColumns {
  return { state, generation, purge_volumes: Number(purgeVolumes), finished: JSON.stringify(finished) };
}

/** Most characters by which a backend can be searched: index entries of PostgreSQL have at most 2700 bytes. */
const MAX_SEARCH_LENGTH = 500;

function searchTextOf(site: string, labels: Labels): string {
  return [site, ...Object.values(labels)].join('\n').toLowerCase().slice(0, MAX_SEARCH_LENGTH);
}

/** A manager of a swarm, with the columns that its group needs. */
export type ManagerRow = Pick<
  BackendRow,
  'id' | 'env' | 'swarm_id' | 'follower' | 'rollout_id' | 'rollout_wave' | 'rollout_outcome'
>;

/**
 * The managers of one swarm and one environment that are not retired and will not be; the representative of the swarm
 * comes first.
 */
export function listManagers(
  store: Store,
  { env, swarm_id }: Pick<ManagerRow, 'env' | 'swarm_id'>,
): Promise<BackendRow[]> {
  return store
    .selectFrom('backends')
    .selectAll()
    .where('swarm_id', '=', swarm_id)
    .where('env', '=', env)
    .where('state', 'in', [...hostStates, 'retiring'])
    .orderBy('follower')
    .orderBy('id')
    .execute();
}

/** True if other managers of a host's group will not be retired, so that the services of the swarm keep running. */
export async function isShared(store: Store, row: Pick<ManagerRow, 'id' | 'env' | 'swarm_id'>): Promise<boolean> {
  const managers = await listManagers(store, row);
  return managers.some(({ id, state }) => id !== row.id && state !== 'retiring');
}

/** True if a host's check-in changes its swarm, or the representative of its swarm. */
export function isMove({ swarm_id, follower }: Pick<ManagerRow, 'swarm_id' | 'follower'>, told?: ToldSwarm): boolean {
  return swarm_id !== (told?.id ?? null) || (follower === 1 && told?.leader === true);
}

/**
 * Assigns a host of a locked environment to the swarm that it reports, and removes it from its previous swarm. A new
 * member takes over the others' rollout; a leader represents all members and continues from the previous
 * representative's state.
 */
export async function placeInSwarm(work: Store, row: ManagerRow, told?: ToldSwarm): Promise<void> {
  if (row.swarm_id !== (told?.id ?? null)) await handOver(work, row);
  if (told === undefined) return setPlace(work, row.id, { swarm_id: null, follower: 0 });
  const { id: swarm_id, leader } = told;
  const first = await findFirst(work, { ...row, swarm_id });
  const isFollower = first !== undefined && !leader;
  await setPlace(work, row.id, { swarm_id, follower: Number(isFollower), ...(first && rolloutOf(first)) });
  if (first && leader) await setPlace(work, first.id, { follower: 1 });
}

/** If a host represents its swarm, makes another manager the representative. */
async function handOver(work: Store, row: ManagerRow): Promise<void> {
  if (row.swarm_id === null || row.follower === 1) return;
  const next = await findFirst(work, row);
  if (next !== undefined) await setPlace(work, next.id, { follower: 0, ...rolloutOf(row) });
}

/** The representative of a host's swarm among the other managers, or the best candidate. */
async function findFirst(work: Store, row: ManagerRow): Promise<BackendRow | undefined> {
  return (await listManagers(work, row)).find(({ id }) => id !== row.id);
}

function rolloutOf({ rollout_id, rollout_wave, rollout_outcome }: ManagerRow) {
  return { rollout_id, rollout_wave, rollout_outcome };
}

async function setPlace(work: Store, id: string, columns: Partial<ManagerRow>): Promise<void> {
  await work
    .updateTable('backends')
    .set(({ eb }) => ({ ...columns, revision: eb('revision', '+', 1) }))
    .where('id', '=', id)
    .execute();
}

/** Raises the generation of every backend; tokens of earlier generations stay accepted until the next kit. */
export async function skipGenerations(work: Store, gap: number): Promise<void> {
  await work
    .updateTable('backends')
    .set(({ eb }) => ({ generation: eb('generation', '+', gap), revision: eb('revision', '+', 1) }))
    .execute();
}

/** Raises the oldest accepted generation of a backend, which may only be known outside of the store. */
export async function raiseGeneration(work: Store, id: string, oldest: number): Promise<void> {
  await work
    .updateTable('backends')
    .set(({ eb }) => ({
      generation: eb.case().when('generation', '<', oldest).then(oldest).else(eb.ref('generation')).end(),
      oldest_generation: oldest,
      revision: eb('revision', '+', 1),
    }))
    .where('id', '=', id)
    .where('oldest_generation', '<', oldest)
    .execute();
}

/** The backends of an environment that are not retired, by id. */
export function listUnretired(store: Store, env: string): Promise<BackendRow[]> {
  const query = store.selectFrom('backends').selectAll().where('env', '=', env).where('state', '!=', 'retired');
  return query.orderBy('id').execute();
}

/** The names of hosts, by id. */
export async function findHostNames(store: Store, ids: readonly string[]): Promise<Map<string, HostName>> {
  if (ids.length === 0) return new Map();
  const rows = await store.selectFrom('backends').select(['id', 'host_name', 'site']).where('id', 'in', ids).execute();
  return new Map(rows.map((row) => [row.id, row]));
}

/** A host that has applied a newer bundle than another one. */
export type NewerHost = Pick<BackendRow, 'id' | 'site' | 'host_name' | 'check_in' | 'swarm_id'>;

/**
 * The hosts of an environment, by id, whose applied bundle has the sequence of another one or a higher one, and other
 * content.
 */
export function listNewerHosts(
  store: Store,
  { env, sha256, same_as, sequence }: Pick<BundleRow, 'env' | 'sha256' | 'same_as' | 'sequence'>,
  page: HostPage,
): Promise<NewerHost[]> {
  return appliedHosts(store, env, page)
    .where('bundles.sequence', '>=', sequence)
    .where((eb) => eb.fn.coalesce('bundles.same_as', eb.ref('bundles.sha256')), '!=', same_as ?? sha256)
    .execute();
}

/** The content to which a rollback returns: the sequence of its earlier bundle, and the group of the new one. */
export interface EarlierContent {
  env: string;
  returnsTo: number;
  group: string;
}

/** The hosts of an environment, by id, whose applied content is newer than an earlier one. */
export function listReturningHosts(
  store: Store,
  { env, returnsTo, group }: EarlierContent,
  page: HostPage,
): Promise<NewerHost[]> {
  return appliedHosts(store, env, page)
    .where((eb) => eb.fn.coalesce('bundles.returns_to', eb.ref('bundles.sequence')), '>', returnsTo)
    .where((eb) => eb.fn.coalesce('bundles.same_as', eb.ref('bundles.sha256')), '!=', group)
    .execute();
}

/** A number of hosts after an id; from the first one for null. */
interface HostPage {
  after: string | null;
  limit: number;
}

function appliedHosts(store: Store, env: string, { after, limit }: HostPage) {
  const query = store
    .selectFrom('backends')
    .innerJoin('bundles', 'bundles.sha256', 'backends.applied_sha')
    .select(['backends.id', 'site', 'host_name', 'check_in', 'swarm_id'])
    .where('backends.env', '=', env)
    .where('state', 'in', hostStates)
    .orderBy('backends.id')
    .limit(limit);
  return after === null ? query : query.where('backends.id', '>', after);
}
