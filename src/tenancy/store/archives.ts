import type { Store } from './openStore.ts';

/**
 * Notes that an archive is about to be stored, so that it is found and removed if no bundle comes of it; false while it
 * is being removed.
 */
export async function announceArchive(store: Store, sha256: string, now: number): Promise<boolean> {
  const insert = store
    .insertInto('archives')
    .values({ sha256, announced_at: now, removing: 0 })
    .onConflict((conflict) =>
      conflict.column('sha256').doUpdateSet({ announced_at: now }).where('archives.removing', '=', 0),
    );
  return (await insert.executeTakeFirstOrThrow()).numInsertedOrUpdatedRows === 1n;
}

/** Holds an announced archive until the transaction ends; false if it has been removed or is being removed. */
export async function holdArchive(work: Store, sha256: string): Promise<boolean> {
  const update = work
    .updateTable('archives')
    .set({ removing: 0 })
    .where('sha256', '=', sha256)
    .where('removing', '=', 0);
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/** Chooses archives of no bundle that were announced before a time, and those whose removal was interrupted. */
export async function chooseArchivesToRemove(store: Store, announcedBefore: number): Promise<string[]> {
  const chosen = await store
    .updateTable('archives')
    .set({ removing: 1 })
    .where('announced_at', '<', announcedBefore)
    .where((where) => {
      const bundle = where.selectFrom('bundles').select('env').whereRef('bundles.sha256', '=', 'archives.sha256');
      return where.not(where.exists(bundle));
    })
    .returning('sha256')
    .execute();
  return chosen.map(({ sha256 }) => sha256);
}

/** Forgets an archive that has been removed. */
export async function forgetArchive(store: Store, sha256: string): Promise<void> {
  await store.deleteFrom('archives').where('sha256', '=', sha256).where('removing', '=', 1).execute();
}
