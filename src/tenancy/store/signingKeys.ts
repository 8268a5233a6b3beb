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
