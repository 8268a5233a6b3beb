import type { OperatorRow } from './database.ts';
import type { Store } from './openStore.ts';

/** Keeps a new operator; false if one of that name has a valid token already. */
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

/** The operator of an id; null if there is none whose token is valid. */
export async function findOperatorById(store: Store, id: string, now: number): Promise<OperatorRow | null> {
  return (await valid(store, now).where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Operators whose tokens are valid, by name. */
export function listOperators(store: Store, now: number): Promise<OperatorRow[]> {
  return valid(store, now).orderBy('name').execute();
}

/** The administrators of all envs whose tokens never end, whom nobody else changes before the transaction ends. */
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

/** Revokes the token of an operator; null if there is no valid one. */
export async function revokeOperator(work: Store, id: string, now: number): Promise<OperatorRow | null> {
  const update = work.updateTable('operators').set({ revoked_at: now }).where('id', '=', id);
  return (await update.where('revoked_at', 'is', null).returningAll().executeTakeFirst()) ?? null;
}

/** The envs that a token is limited to; null for all. */
export function envsOf(envs: OperatorRow['envs']): string[] | null {
  return envs && (JSON.parse(envs) as string[]);
}

/** Keeps when a token was used. */
export async function recordOperatorUse(store: Store, id: string, now: number): Promise<void> {
  await store.updateTable('operators').set({ last_used_at: now }).where('id', '=', id).execute();
}

/** A token that has expired is revoked when its name is given again. */
async function freeName(work: Store, { name, created_at: now }: OperatorRow): Promise<void> {
  const update = work.updateTable('operators').set({ revoked_at: now }).where('name', '=', name);
  await update.where('revoked_at', 'is', null).where('expires_at', '<=', now).execute();
}

function valid(store: Store, now: number) {
  const unrevoked = store.selectFrom('operators').selectAll().where('revoked_at', 'is', null);
  return unrevoked.where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]));
}
