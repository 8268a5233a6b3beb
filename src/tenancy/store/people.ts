import { setTimeout } from 'node:timers/promises';
import type { AuditRow, OperatorRow, SessionOwner, SessionRow } from './database.ts';
import { type DueBounds, isDue } from './pendingSteps.ts';
import type { Store } from './openStore.ts';

/** Stores a new operator; returns false if an operator of that name has a valid token. */
export async function addOperator(work: Store, row: OperatorRow): Promise<boolean> {
  await freeName(work, row);
  const insert = work
    .insertInto('operators')
    .values(row)
    .onConflict((conflict) => conflict.column('name').where('revoked_at', 'is', null).doNothing());
  return (await insert.executeTakeFirstOrThrow()).numInsertedOrUpdatedRows === 1n;
}

/** The operator of a token, by the digest of the token; null if it is unknown, expired or revoked. */
export async function findOperator(store: Store, tokenSha256: string, now: number): Promise<OperatorRow | null> {
  return (await valid(store, now).where('token_sha256', '=', tokenSha256).executeTakeFirst()) ?? null;
}

/** The operator with an id; null if there is none with a valid token. */
export async function findOperatorById(store: Store, id: string, now: number): Promise<OperatorRow | null> {
  return (await valid(store, now).where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Whether an operator has, or once had, a token with this digest. */
export async function isKnownToken(store: Store, tokenSha256: string): Promise<boolean> {
  const query = store.selectFrom('operators').select('id').where('token_sha256', '=', tokenSha256);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Operators with valid tokens, by name. */
export function listOperators(store: Store, now: number): Promise<OperatorRow[]> {
  return valid(store, now).orderBy('name').execute();
}

/** Locks the administrators of all environments whose tokens never expire until the transaction ends. */
export function lockAdmins(work: Store): Promise<OperatorRow[]> {
  return work
    .updateTable('operators')
    .set((set) => ({ role: set.ref('role') }))
    .where('role', '=', 'admin')
    .where('envs', 'is', null)
    .where('expires_at', 'is', null)
    .where('revoked_at', 'is', null)
    .returningAll()
    .execute();
}

/** Revokes the token of an operator; returns null if there is no valid one. */
export async function revokeOperator(work: Store, id: string, now: number): Promise<OperatorRow | null> {
  const update = work.updateTable('operators').set({ revoked_at: now }).where('id', '=', id);
  return (await update.where('revoked_at', 'is', null).returningAll().executeTakeFirst()) ?? null;
}

/** The environments to which a token is limited; null for all. */
export function envsOf(envs: OperatorRow['envs']): string[] | null {
  return envs && (JSON.parse(envs) as string[]);
}

/** Stores when a token was last used. */
export async function recordOperatorUse(store: Store, id: string, now: number): Promise<void> {
  await store.updateTable('operators').set({ last_used_at: now }).where('id', '=', id).execute();
}

/** Revokes an expired token when its name is used again. */
async function freeName(work: Store, { name, created_at: now }: OperatorRow): Promise<void> {
  const update = work.updateTable('operators').set({ revoked_at: now }).where('name', '=', name);
  await update.where('revoked_at', 'is', null).where('expires_at', '<=', now).execute();
}

function valid(store: Store, now: number) {
  const unrevoked = store.selectFrom('operators').selectAll().where('revoked_at', 'is', null);
  return unrevoked.where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]));
}

/** Digests of all operator tokens and session cookies that may be valid. */
async function listDigests(store: Store, now: number): Promise<string[]> {
  const [tokens, cookies] = await Promise.all([
    valid(store, now).clearSelect().select('token_sha256 as digest').execute(),
    store.selectFrom('sessions').select('secret_sha256 as digest').execute(),
  ]);
  return [...tokens, ...cookies].map(({ digest }) => digest);
}

/** Keeps a new session. */
export async function insertSession(work: Store, row: SessionRow): Promise<void> {
  await work.insertInto('sessions').values(row).execute();
}

/** The session of a cookie, by the digest of its value. */
export async function findSession(store: Store, secretSha256: string): Promise<SessionRow | null> {
  const query = store.selectFrom('sessions').selectAll().where('secret_sha256', '=', secretSha256);
  return (await query.executeTakeFirst()) ?? null;
}

/** The session with an id. */
export async function findSessionById(store: Store, id: string): Promise<SessionRow | null> {
  return (await store.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Sessions of an owner, or of everybody (null), newest first. */
export function listSessions(store: Store, owner: SessionOwner | null): Promise<SessionRow[]> {
  const query = store.selectFrom('sessions').selectAll().orderBy('created_at', 'desc').orderBy('id');
  if (owner === null) return query.execute();
  return query.where('issuer', '=', owner.issuer).where('subject', '=', owner.subject).execute();
}

/** Deletes a session, of an owner or of anybody (null); returns null if there is none. */
export async function deleteSession(work: Store, id: string, owner: SessionOwner | null): Promise<SessionRow | null> {
  const query = work.deleteFrom('sessions').where('id', '=', id).returningAll();
  const own = owner && query.where('issuer', '=', owner.issuer).where('subject', '=', owner.subject);
  return (await (own ?? query).executeTakeFirst()) ?? null;
}

/** Deletes all sessions of an owner. */
export async function deleteSessionsOf(work: Store, { issuer, subject }: SessionOwner): Promise<void> {
  await work.deleteFrom('sessions').where('issuer', '=', issuer).where('subject', '=', subject).execute();
}

/**
 * Claims a session for one instance, which queries the provider, for the longest time of a claim; returns false if
 * another instance has claimed it.
 */
export async function claimSession(store: Store, id: string, bounds: DueBounds): Promise<boolean> {
  const until = { claimed_until: bounds.now + bounds.longestMs };
  const update = store.updateTable('sessions').set(until).where('id', '=', id);
  return (await update.where(isDue('claimed_until', bounds)).executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/** Stores the provider's answer, or when a session was last used. */
export async function updateSession(store: Store, id: string, changes: Partial<SessionRow>): Promise<void> {
  await store.updateTable('sessions').set(changes).where('id', '=', id).execute();
}

/** Deletes sessions that started or were last used before a time. */
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

/** A new entry of the audit log. */
export type AuditEntry = Omit<AuditRow, 'id' | 'count' | 'old_value' | 'new_value'> &
  Partial<Pick<AuditRow, 'old_value' | 'new_value'>>;

/** Adds an entry to the audit log, in the transaction of its action. */
export async function addAuditEntry(work: Store, entry: AuditEntry): Promise<void> {
  await work.insertInto('audit').values(entry).execute();
}

/** Adds an entry whose count can be raised; returns its id. */
export function addCountedEntry(store: Store, entry: AuditEntry): Promise<number> {
  return store.transaction().execute(async (work) => {
    return (await work.insertInto('audit').values(entry).returning('id').executeTakeFirstOrThrow()).id;
  });
}

/** Raises the count of an entry. */
export async function raiseCount(store: Store, id: number, by: number): Promise<void> {
  await store
    .updateTable('audit')
    .set((row) => ({ count: row('count', '+', by) }))
    .where('id', '=', id)
    .execute();
}

/** Removes entries of before a time, at most `limit` of the oldest; returns how many. */
export async function removeAuditEntries(work: Store, before: number, limit: number): Promise<number> {
  const oldest = await work.selectFrom('audit').select(['id', 'at']).orderBy('id').limit(limit).execute();
  const ids = oldest.filter(({ at }) => at < before).map(({ id }) => id);
  if (ids.length === 0) return 0;
  await work.deleteFrom('audit_retention').execute();
  await work.insertInto('audit_retention').values({ removable_before: before }).execute();
  await work.deleteFrom('audit').where('id', 'in', ids).execute();
  return ids.length;
}

/**
 * Filters of the audit log: entries before an id, in some environments (null for all), with one action, actor or
 * target. With `after`: entries after an id that were added before a time, oldest first.
 */
export interface AuditFilter {
  act?: string | undefined;
  actor?: string | undefined;
  target?: string | undefined;
  before?: number | undefined;
  after?: { id: number; addedBefore: number } | undefined;
  envs: readonly string[] | null;
  limit: number;
}

/** A page of the audit log, newest first. */
export function listAuditEntries(store: Store, filter: AuditFilter): Promise<AuditRow[]> {
  return auditQuery(store, filter).execute();
}

/** Id of the newest entry of the audit log; 0 for none. */
export async function newestAuditId(store: Store): Promise<number> {
  const newest = store.selectFrom('audit').select(({ fn }) => fn.max('id').as('id'));
  return (await newest.executeTakeFirst())?.id ?? 0;
}

/** Entries of the audit log after an id, oldest first. */
export function listAuditAfter(store: Store, after: number, limit: number): Promise<AuditRow[]> {
  return store.selectFrom('audit').selectAll().where('id', '>', after).orderBy('id').limit(limit).execute();
}

/** Selects a page; there are indexes by environment, action, actor and target. */
export function auditQuery(store: Store, { before, after, envs, act, actor, target, limit }: AuditFilter) {
  let query = store
    .selectFrom('audit')
    .selectAll()
    .orderBy('id', after === undefined ? 'desc' : 'asc')
    .limit(limit);
  if (after !== undefined) query = query.where('id', '>', after.id).where('at', '<', after.addedBefore);
  if (before !== undefined) query = query.where('id', '<', before);
  if (envs !== null) query = query.where('env', 'in', envs);
  if (act !== undefined) query = query.where('act', '=', act);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  if (target !== undefined) query = query.where('target', '=', target);
  return query;
}

/** The newest successful change of each of these secrets of an environment, by its target. */
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

/** Revokes the tokens of all operators; returns how many. */
export async function revokeAllOperators(work: Store, now: number): Promise<number> {
  const update = work.updateTable('operators').set({ revoked_at: now }).where('revoked_at', 'is', null);
  return Number((await update.executeTakeFirstOrThrow()).numUpdatedRows);
}

/** Digests of tokens and cookies of a store that may be valid. */
interface KnownDigests {
  digests: ReadonlySet<string>;
  /** The load that has not begun yet, which all unknown callers share. */
  next: Promise<void> | null;
  /** The newest load that has begun. */
  newest: Promise<void>;
  /** When the next load may begin, by the monotonic clock. */
  earliestMs: number;
  waiting: number;
}

const knownDigests = new WeakMap<Store, KnownDigests>();
/** Milliseconds between two loads; they take at most a twentieth of the time. */
const LOAD_PAUSE_MS = 50;
const LOAD_SHARE = 0.05;
/** Number of unknown callers that may wait for a load. */
const MAX_UNKNOWN = 1000;

/**
 * False for a token or cookie that does not exist, without a query for each. The digests are loaded after the call has
 * arrived, because another instance may just have created it. All unknown callers share one load; null if too
 * many wait for it already.
 */
export async function isKnownDigest(store: Store, clock: () => number, digest: string): Promise<boolean | null> {
  const known = knownDigests.get(store) ?? {
    ...{ digests: new Set<string>(), next: null, newest: Promise.resolve() },
    ...{ earliestMs: 0, waiting: 0 },
  };
  knownDigests.set(store, known);
  if (known.digests.has(digest)) return true;
  if (known.waiting >= MAX_UNKNOWN) return null;
  known.waiting++;
  try {
    await (known.next ??= loadDigests(known, store, clock));
  } finally {
    known.waiting--;
  }
  return known.digests.has(digest);
}

async function loadDigests(known: KnownDigests, store: Store, clock: () => number): Promise<void> {
  await known.newest.catch(() => undefined);
  await setTimeout(Math.max(0, known.earliestMs - performance.now()));
  known.next = null;
  const begin = performance.now();
  const load = async () => {
    known.digests = new Set(await listDigests(store, clock()));
  };
  known.newest = load().finally(() => {
    known.earliestMs = performance.now() + Math.max(LOAD_PAUSE_MS, (performance.now() - begin) / LOAD_SHARE);
  });
  await known.newest;
}
