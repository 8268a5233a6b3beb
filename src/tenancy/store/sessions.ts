import type { SessionRow } from './database.ts';
import { isDue, type DueBounds } from './dueTime.ts';
import type { Store } from './openStore.ts';

/** Keeps a new session. */
export async function insertSession(work: Store, row: SessionRow): Promise<void> {
  await work.insertInto('sessions').values(row).execute();
}

/** The session of a cookie, by the digest of its value. */
export async function findSession(store: Store, secretSha256: string): Promise<SessionRow | null> {
  const query = store.selectFrom('sessions').selectAll().where('secret_sha256', '=', secretSha256);
  return (await query.executeTakeFirst()) ?? null;
}

/** The session of an id. */
export async function findSessionById(store: Store, id: string): Promise<SessionRow | null> {
  return (await store.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Sessions of a person, or of all people (null), newest first. */
export function listSessions(store: Store, subject: string | null): Promise<SessionRow[]> {
  const query = store.selectFrom('sessions').selectAll().orderBy('created_at', 'desc').orderBy('id');
  return (subject === null ? query : query.where('subject', '=', subject)).execute();
}

/** Deletes a session, of a person or of anybody (null); null if there is none. */
export async function deleteSession(work: Store, id: string, subject: string | null): Promise<SessionRow | null> {
  const query = work.deleteFrom('sessions').where('id', '=', id).returningAll();
  return (await (subject === null ? query : query.where('subject', '=', subject)).executeTakeFirst()) ?? null;
}

/** Lets one instance ask the provider for the longest time of a claim; false if another one has that already. */
export async function claimSession(store: Store, id: string, bounds: DueBounds): Promise<boolean> {
  const until = { claimed_until: bounds.now + bounds.longestMs };
  const update = store.updateTable('sessions').set(until).where('id', '=', id);
  return (await update.where(isDue('claimed_until', bounds)).executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/** Keeps what the provider has told, or when a session was used. */
export async function updateSession(store: Store, id: string, changes: Partial<SessionRow>): Promise<void> {
  await store.updateTable('sessions').set(changes).where('id', '=', id).execute();
}

/** Deletes sessions that began or were last used before a time. */
export async function deleteOldSessions(store: Store, before: { created: number; used: number }): Promise<void> {
  await store
    .deleteFrom('sessions')
    .where((row) => row.or([row('created_at', '<=', before.created), row('last_used_at', '<=', before.used)]))
    .execute();
}

/** Deletes all sessions. */
export async function deleteAllSessions(work: Store): Promise<void> {
  await work.deleteFrom('sessions').execute();
}
