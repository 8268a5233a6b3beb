import { Kysely, PostgresDialect, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, type Dialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import pg from 'pg';
import type { Database } from './database.ts';
import { migrations } from './migrations.ts';
import { SqliteDriver } from './sqliteDriver.ts';

/** The tables of the service, in SQLite or PostgreSQL. */
export type Store = Kysely<Database>;

/** Where the store is: a file of SQLite, or the URL of a PostgreSQL database. */
export type StorePlace = { file: string } | { url: string };

/** Opens a store; `destroy()` closes it. */
export function openStore(place: StorePlace): Store {
  return new Kysely<Database>({ dialect: 'file' in place ? sqliteDialect(place.file) : postgresDialect(place.url) });
}

/** Brings the tables to this version; instances that start together do it once. Returns the names of what was done. */
export async function migrateStore(store: Store): Promise<string[]> {
  const migrator = new Migrator({ db: store, provider: { getMigrations: async () => migrations } });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) throw error as Error;
  return results.map(({ migrationName }) => migrationName);
}

function sqliteDialect(file: string): Dialect {
  return {
    createDriver: () => new SqliteDriver(file),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

function postgresDialect(connectionString: string): Dialect {
  // Counts and times are below 2^53.
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, Number);
  return new PostgresDialect({ pool: new pg.Pool({ connectionString, types }) });
}

/** The driver orders transactions itself, and SQLite undoes changes of tables with their transaction. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }

  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
