import { randomUUID } from 'node:crypto';
import type { Transaction } from 'kysely';
import { newBackend, nextBackend, type BackendEvent, type BackendRecord } from '../../../machines/backend.ts';
import type { CheckInRequest } from '../../protocol/checkIn.ts';
import type { BackendRow, Database } from './database.ts';
import type { Store } from './openStore.ts';

/** What an administrator says of a new backend. */
export interface BackendFields {
  env: string;
  site: string;
  laptop: boolean;
}

/** Creates a backend in an env that exists; returns its id. */
export async function createBackend(store: Store, { env, site, laptop }: BackendFields, now: number): Promise<string> {
  const id = randomUUID();
  const row = { id, env, site, laptop: Number(laptop), created_at: now, state_since: now };
  const unseen = { revision: 0, last_seen_at: null, check_in: null };
  await store
    .insertInto('backends')
    .values({ ...row, ...unseen, ...columnsOf(newBackend) })
    .execute();
  return id;
}

/** The row of a backend; null if there is none. */
export async function findBackend(store: Store, id: string): Promise<BackendRow | null> {
  return (await store.selectFrom('backends').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** A page of backends by id, after the last id of the page before. */
export function listBackends(
  store: Store,
  { after = '', limit }: { after?: string; limit: number },
): Promise<BackendRow[]> {
  return store.selectFrom('backends').selectAll().where('id', '>', after).orderBy('id').limit(limit).execute();
}

/** Applies an event; null if there is no such backend or its state does not allow the event. */
export function applyEvent(store: Store, id: string, event: BackendEvent, now: number): Promise<BackendRow | null> {
  return store.transaction().execute((work) => changeBackend(work, id, event, { now }));
}

/** Keeps a check-in, with the state that follows from it. */
export function recordCheckIn(
  store: Store,
  id: string,
  checkIn: CheckInRequest,
  now: number,
): Promise<BackendRow | null> {
  const seen = { last_seen_at: now, check_in: JSON.stringify(checkIn) };
  return store.transaction().execute((work) => changeBackend(work, id, { type: 'CHECK_IN' }, { now, columns: seen }));
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
    .where(({ eb, or, and }) =>
      or([
        and([eb('laptop', '=', 0), eb('last_seen_at', '<', seenBefore.servers)]),
        and([eb('laptop', '=', 1), eb('last_seen_at', '<', seenBefore.laptops)]),
      ]),
    )
    .orderBy('last_seen_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Applies an event within a transaction, with further columns to set. */
export async function changeBackend(
  work: Transaction<Database>,
  id: string,
  event: BackendEvent,
  { now, columns = {} }: { now: number; columns?: Partial<BackendRow> },
): Promise<BackendRow | null> {
  for (;;) {
    const row = await work.selectFrom('backends').selectAll().where('id', '=', id).executeTakeFirst();
    const next = row && nextBackend(recordOf(row), event);
    if (!next) return null;
    const { revision, state } = row;
    const since = next.state === state ? {} : { state_since: now };
    const changed = { ...columns, ...columnsOf(next), ...since, revision: revision + 1 };
    const update = work.updateTable('backends').set(changed).where('id', '=', id).where('revision', '=', revision);
    // No row: another instance has changed the backend since it was read here.
    if ((await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n) return { ...row, ...changed };
  }
}

function recordOf({ state, generation, purge_volumes, finished }: BackendRow): BackendRecord {
  return {
    state,
    generation,
    purgeVolumes: purge_volumes === 1,
    finished: JSON.parse(finished) as BackendRecord['finished'],
  };
}

function columnsOf({ state, generation, purgeVolumes, finished }: BackendRecord) {
  return { state, generation, purge_volumes: Number(purgeVolumes), finished: JSON.stringify(finished) };
}
