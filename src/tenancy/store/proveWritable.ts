import { sql } from 'kysely';
import { isPostgres } from './isPostgres.ts';
import type { Store } from './openStore.ts';

/** Throws unless the store takes a durable write, and has room for more. */
export async function proveWritable(store: Store): Promise<void> {
  await store.transaction().execute(async (work) => {
    await work
      .updateTable('signing_keys')
      .set((set) => ({ active_from: set.ref('active_from') }))
      .execute();
    // PostgreSQL has room for a changed row also on a full disk; a new table needs a page of it.
    if (isPostgres(work)) await sql`create temporary table room on commit drop as select 1 as taken`.execute(work);
  });
}
