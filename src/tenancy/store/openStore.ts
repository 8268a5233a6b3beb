import { Kysely, PostgresDialect, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, type Dialect } from 'kysely';
import { DEFAULT_MIGRATION_TABLE, Migrator } from 'kysely/migration';
import pg from 'pg';
import type { Database } from './database.ts';
import { migrations } from './migrations.ts';
import { PostgresClient } from './postgresClient.ts';
import { SqliteDriver } from './sqliteDriver.ts';

/** The tables of the service, in SQLite or PostgreSQL. */
export type Store = Kysely<Database>;

/** Where the store is: a file of SQLite, or the URL of a PostgreSQL database. */
export type StorePlace = { file: string } | { url: string };

/** Milliseconds that a connection to PostgreSQL may take, also to become free. */
const CONNECT_TIMEOUT_MS = 5000;

/** Opens a store; `destroy()` closes it. */
export function openStore(place: StorePlace): Store {
  return new Kysely<Database>({ dialect: 'file' in place ? sqliteDialect(place.file) : postgresDialect(place.url) });
}

/** Brings the tables to this version; instances that start together do it once. Returns the names of what was done. */
export async function migrateStore(store: Store): Promise<string[]> {
  const { error, results = [] } = await migratorOf(store).migrateToLatest();
  if (error !== undefined) throw error as Error;
  return results.map(({ migrationName }) => migrationName);
}

/** How the tables differ from those of this version, by names of migrations. */
export interface MigrationState {
  /** Still to be done. */
  pending: string[];
  /** Done by a newer version. */
  unknown: string[];
  /** True for a store that nothing was ever done to. */
  isEmpty: boolean;
}

/** Compares the tables with those of this version; changes nothing. */
export async function migrationState(store: Store): Promise<MigrationState> {
  const known = await migratorOf(store).getMigrations();
  const pending = known.filter(({ executedAt }) => executedAt === undefined).map(({ name }) => name);
  if (pending.length === known.length) return { pending, unknown: [], isEmpty: true };
  const done = await store
    .$extendTables<{ [DEFAULT_MIGRATION_TABLE]: { name: string } }>()
    .selectFrom(DEFAULT_MIGRATION_TABLE)
    .select('name')
    .execute();
  const names = new Set(known.map(({ name }) => name));
  return { pending, unknown: done.map(({ name }) => name).filter((name) => !names.has(name)), isEmpty: false };
}

function migratorOf(store: Store): Migrator {
  return new Migrator({ db: store, provider: { getMigrations: async () => migrations } });
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
  const options = { connectionString, types, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true };
  const pool = new pg.Pool({ ...options, Client: PostgresClient });
  // A connection that is lost is told to whoever uses it next, and then replaced; nobody else needs to hear of it.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  return new PostgresDialect({ pool });
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
