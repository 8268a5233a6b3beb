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

/** The newest change of each of these secrets of an env that was made, by its target. */
export async function newestChanges(
  store: Store,
  env: string,
  targets: readonly string[],
): Promise<Map<string, Pick<AuditRow, 'id' | 'at' | 'actor'>>> {
  if (targets.length === 0) return new Map();
  const rows = await store
    .selectFrom('audit')
    .select(['id', 'at', 'actor', 'target'])
    .where('act', 'in', ['secret.set', 'secret.delete'])
    .where('env', '=', env)
    .where('result', '=', 'ok')
    .where('target', 'in', targets)
    .orderBy('id')
    .execute();
  return new Map(rows.map((row) => [row.target, row]));
}
