import type { Transaction } from 'kysely';
import type { BundleRow, Database } from './database.ts';
import type { Store } from './openStore.ts';

/**
 * What became of a new bundle: `known` if the same archive is there already, `stale` if its env has one of the same
 * sequence or a higher one, `envless` if there is no such env.
 */
export type BundleInsertion = 'added' | 'known' | 'stale' | 'envless';

/** Adds a bundle to its env, and raises the env's last sequence to that of the bundle. */
export async function insertBundle(work: Transaction<Database>, row: BundleRow): Promise<BundleInsertion> {
  const { env, sequence, sha256 } = row;
  // The update also locks the env, so that bundles of one env come one after the other.
  const raise = work
    .updateTable('envs')
    .set(({ eb }) => ({
      last_sequence: eb.case().when('last_sequence', '<', sequence).then(sequence).else(eb.ref('last_sequence')).end(),
    }))
    .where('name', '=', env);
  if ((await raise.executeTakeFirstOrThrow()).numUpdatedRows === 0n) return 'envless';
  if ((await findBundle(work, sha256)) !== null) return 'known';
  if (sequence <= ((await highestSequence(work, env)) ?? -1)) return 'stale';
  await work.insertInto('bundles').values(row).execute();
  return 'added';
}

/** The row of a bundle; null if there is none. */
export async function findBundle(store: Store, sha256: string): Promise<BundleRow | null> {
  return (await store.selectFrom('bundles').selectAll().where('sha256', '=', sha256).executeTakeFirst()) ?? null;
}

/** The highest sequence of the bundles of an env; null if it has none. */
export async function highestSequence(store: Store, env: string): Promise<number | null> {
  const highest = store.selectFrom('bundles').select(({ fn }) => fn.max('sequence').as('sequence'));
  return (await highest.where('env', '=', env).executeTakeFirst())?.sequence ?? null;
}

/** Deletes the row of a bundle; false if there is none. */
export async function deleteBundleRow(work: Transaction<Database>, sha256: string): Promise<boolean> {
  const deletion = work.deleteFrom('bundles').where('sha256', '=', sha256);
  return (await deletion.executeTakeFirstOrThrow()).numDeletedRows === 1n;
}
