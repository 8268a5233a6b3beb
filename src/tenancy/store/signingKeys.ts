import type { SigningKeyRow } from './database.ts';
import type { Store } from './openStore.ts';

/** Keeps a new signing key. */
export async function addSigningKey(store: Store, row: SigningKeyRow): Promise<void> {
  await store.insertInto('signing_keys').values(row).execute();
}

/** All signing keys, in the order in which they become active. */
export function listSigningKeys(store: Store): Promise<SigningKeyRow[]> {
  return store.selectFrom('signing_keys').selectAll().orderBy('active_from').orderBy('kid').execute();
}

/** Deletes signing keys. */
export async function deleteSigningKeys(store: Store, kids: string[]): Promise<void> {
  await store.deleteFrom('signing_keys').where('kid', 'in', kids).execute();
}

/** Throws unless the store takes a durable write: it writes a row as it is. */
export async function proveWritable(store: Store): Promise<void> {
  await store
    .updateTable('signing_keys')
    .set((set) => ({ active_from: set.ref('active_from') }))
    .execute();
}
