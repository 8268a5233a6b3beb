import type { OperatorRow } from './database.ts';
import type { Store } from './openStore.ts';

/** Keeps a new operator; false if one of that name has a token already. */
export async function addOperator(work: Store, row: OperatorRow): Promise<boolean> {
  const insert = work
    .insertInto('operators')
    .values(row)
    .onConflict((conflict) => conflict.column('name').where('revoked_at', 'is', null).doNothing());
  return (await insert.executeTakeFirstOrThrow()).numInsertedOrUpdatedRows === 1n;
}

/** The operator of a token, by the digest of the token; null if it is unknown or revoked. */
export async function findOperator(store: Store, tokenSha256: string): Promise<OperatorRow | null> {
  return (await valid(store).where('token_sha256', '=', tokenSha256).executeTakeFirst()) ?? null;
}

/** Operators whose tokens are valid, by name. */
export function listOperators(store: Store): Promise<OperatorRow[]> {
  return valid(store).orderBy('name').execute();
}

/** The administrators of all envs, whom nobody else changes before the transaction ends. */
export function lockAdmins(work: Store): Promise<OperatorRow[]> {
  return work
    .updateTable('operators')
    .set((set) => ({ role: set.ref('role') }))
    .where('role', '=', 'admin')
    .where('envs', 'is', null)
    .where('revoked_at', 'is', null)
    .returningAll()
    .execute();
}

/** Revokes the token of an operator; null if there is no valid one. */
export async function revokeOperator(work: Store, id: string, now: number): Promise<OperatorRow | null> {
  const update = work.updateTable('operators').set({ revoked_at: now }).where('id', '=', id);
  return (await update.where('revoked_at', 'is', null).returningAll().executeTakeFirst()) ?? null;
}

/** Keeps when a token was used. */
export async function recordOperatorUse(store: Store, id: string, now: number): Promise<void> {
  await store.updateTable('operators').set({ last_used_at: now }).where('id', '=', id).execute();
}

function valid(store: Store) {
  return store.selectFrom('operators').selectAll().where('revoked_at', 'is', null);
}
