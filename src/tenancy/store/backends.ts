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
import type { BackendRow, Labels } from './database.ts';
import type { Store } from './openStore.ts';
import { addPendingSteps } from './pendingSteps.ts';

/** What an administrator says of a new backend. */
export interface BackendFields {
  env: string;
  site: string;
  laptop: boolean;
  transport: BackendRow['transport'];
  labels?: Labels;
}

/** An event of a backend at a time, with further columns to set if its state allows the event. */
interface BackendChange {
  event: BackendEvent;
  now: number;
  columns?: Partial<BackendRow>;
  /** Whether the event still applies to the row as it is now. */
  when?: (row: BackendRow) => boolean;
}

/** Creates a backend in an env that exists; returns its id. */
export async function createBackend(
  store: Store,
  { labels = {}, laptop, ...fields }: BackendFields,
  now: number,
): Promise<string> {
  const id = randomUUID();
  const search = searchTextOf(fields.site, labels);
  const told = { laptop: Number(laptop), labels: JSON.stringify(labels), search };
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
    ...token,
  };
  await store
    .insertInto('backends')
    .values({ ...row, ...unseen, ...columnsOf(newBackend) })
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

/** The row of a backend; null if there is none. */
export async function findBackend(store: Store, id: string): Promise<BackendRow | null> {
  return (await store.selectFrom('backends').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Keeps which trouble of a backend its newest report told, null for none; false if that was so before. */
export async function setTrouble(work: Store, id: string, trouble: string | null): Promise<boolean> {
  const update = work.updateTable('backends').set({ trouble }).where('id', '=', id);
  return (await update.where('trouble', 'is distinct from', trouble).executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/** How many backends there are, by state. */
export async function countBackendsByState(store: Store): Promise<Partial<Record<BackendState, number>>> {
  const counts = store.selectFrom('backends').select(['state', ({ fn }) => fn.countAll<number>().as('count')]);
  const rows = await counts.groupBy('state').execute();
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

/** Applies an event; null if there is no such backend or its state does not allow the event. */
export function applyEvent(store: Store, id: string, change: BackendChange): Promise<BackendRow | null> {
  return store.transaction().execute((work) => changeBackend(work, id, change));
}

/** Ids of active backends that were last seen before a time, those that are silent longest first. */
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

/** Ids of backends that are retiring and were neither seen nor asked to retire since a time. */
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

/** As `applyEvent`, within a transaction, with the state before; the steps of finishing are due when it begins. */
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
    const accepted = next.generation === row.generation ? {} : { oldest_generation: next.generation };
    const changed = { ...columns, ...columnsOf(next), ...since, ...accepted, revision: revision + 1 };
    const update = work.updateTable('backends').set(changed).where('id', '=', id).where('revision', '=', revision);
    // No row: another instance has changed the backend since it was read here.
    if ((await update.executeTakeFirstOrThrow()).numUpdatedRows === 0n) continue;
    if (next.state === 'finishing' && state !== 'finishing') {
      await addPendingSteps(work, id, { steps: finishingSteps, dueAt: now });
      await handOver(work, row);
    }
    return { ...row, ...changed, previous: state };
  }
}

/** Columns of a backend's row that tell its life. */
export type LifeColumns = Pick<BackendRow, 'state' | 'generation' | 'purge_volumes' | 'finished'>;

/** The record of a backend's life, from its row. */
export function recordOf({ state, generation, purge_volumes, finished }: LifeColumns): BackendRecord {
  return {
    state,
    generation,
    purgeVolumes: purge_volumes === 1,
    finished: JSON.parse(finished) as BackendRecord['finished'],
  };
}

/** The columns of a record of a backend's life. */
function columnsOf({ state, generation, purgeVolumes, finished }: BackendRecord): LifeColumns {
  return { state, generation, purge_volumes: Number(purgeVolumes), finished: JSON.stringify(finished) };
}

/** Most characters that a backend is searched by: entries of indexes of PostgreSQL have at most 2700 bytes. */
const MAX_SEARCH_LENGTH = 500;

function searchTextOf(site: string, labels: Labels): string {
  return [site, ...Object.values(labels)].join('\n').toLowerCase().slice(0, MAX_SEARCH_LENGTH);
}

/** A manager of a swarm, as far as the group is concerned. */
export type ManagerRow = Pick<
  BackendRow,
  'id' | 'env' | 'swarm_id' | 'follower' | 'rollout_id' | 'rollout_wave' | 'rollout_outcome'
>;

/** The managers that are one group: those of one swarm and one env that are not retired, nor about to be; who stands for it first. */
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

/** True if other managers of the group of a host are not to be retired: what they run stays. */
export async function isShared(store: Store, row: Pick<ManagerRow, 'id' | 'env' | 'swarm_id'>): Promise<boolean> {
  const managers = await listManagers(store, row);
  return managers.some(({ id, state }) => id !== row.id && state !== 'retiring');
}

/** True if what a host tells changes which swarm it is in, or who stands for that. */
export function isMove({ swarm_id, follower }: Pick<ManagerRow, 'swarm_id' | 'follower'>, told?: ToldSwarm): boolean {
  return swarm_id !== (told?.id ?? null) || (follower === 1 && told?.leader === true);
}

/**
 * Puts a host of a locked env into the swarm that it tells, and out of the one that it was in. Whoever comes to others takes
 * over their rollout; whoever leads stands for them all, and goes on where the one before is.
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

/** Lets another manager of its swarm stand for the others where a host has done so until now. */
async function handOver(work: Store, row: ManagerRow): Promise<void> {
  if (row.swarm_id === null || row.follower === 1) return;
  const next = await findFirst(work, row);
  if (next !== undefined) await setPlace(work, next.id, { follower: 0, ...rolloutOf(row) });
}

/** Who stands for the swarm of a host, or could, of the other managers. */
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
