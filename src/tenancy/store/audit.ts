import type { AuditRow } from './database.ts';
import type { Store } from './openStore.ts';

/** An entry of the audit log that is not numbered yet. */
export type AuditEntry = Omit<AuditRow, 'id'>;

/** Adds an entry to the audit log; in the transaction of the act that it tells of. */
export async function addAuditEntry(work: Store, entry: AuditEntry): Promise<void> {
  await work.insertInto('audit').values(entry).execute();
}

/** Which entries a list shows: those before an id, of some envs (null for all), of one act, by one actor. */
export interface AuditFilter {
  act?: string | undefined;
  actor?: string | undefined;
  before?: number | undefined;
  envs: readonly string[] | null;
  limit: number;
}

/** A page of the audit log, newest first. */
export function listAuditEntries(store: Store, filter: AuditFilter): Promise<AuditRow[]> {
  return auditQuery(store, filter).execute();
}

/** Selects a page; by env, act and actor there are indexes. */
export function auditQuery(store: Store, { before, envs, act, actor, limit }: AuditFilter) {
  let query = store.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
  if (before !== undefined) query = query.where('id', '<', before);
  if (envs !== null) query = query.where('env', 'in', envs);
  if (act !== undefined) query = query.where('act', '=', act);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  return query;
}
