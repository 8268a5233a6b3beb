import type { EnvRow } from './database.ts';
import type { Store } from './openStore.ts';

/** Creates an env; false if there is one of that name. */
export async function createEnv(store: Store, name: string, production: boolean): Promise<boolean> {
  const values = { name, production: Number(production), desired_sha: null, last_sequence: 0 };
  const insert = store
    .insertInto('envs')
    .values(values)
    .onConflict((conflict) => conflict.doNothing());
  return (await insert.executeTakeFirstOrThrow()).numInsertedOrUpdatedRows === 1n;
}

/** The row of an env; null if there is none. */
export async function findEnv(store: Store, name: string): Promise<EnvRow | null> {
  return (await store.selectFrom('envs').selectAll().where('name', '=', name).executeTakeFirst()) ?? null;
}

/** Reserves the next sequence for a bundle of an env, which nobody else gets; null if there is no such env. */
export async function reserveSequence(store: Store, name: string): Promise<number | null> {
  const update = store
    .updateTable('envs')
    .set(({ eb }) => ({ last_sequence: eb('last_sequence', '+', 1) }))
    .where('name', '=', name)
    .returning('last_sequence');
  return (await update.executeTakeFirst())?.last_sequence ?? null;
}
