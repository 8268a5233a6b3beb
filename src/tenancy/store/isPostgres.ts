import { PostgresAdapter, type Kysely } from 'kysely';

/** True for a store in PostgreSQL, false for one in SQLite. */
export function isPostgres(store: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return store.getExecutor().adapter instanceof PostgresAdapter;
}
