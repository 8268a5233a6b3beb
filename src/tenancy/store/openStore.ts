import {
  type Compilable,
  type CompiledQuery,
  type Dialect,
  Kysely,
  PostgresDialect,
  type RawBuilder,
  sql,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { DEFAULT_MIGRATION_TABLE, Migrator } from 'kysely/migration';
import pg from 'pg';
import type { Database } from './database.ts';
import { isPostgres, migrations } from './migrations.ts';
import { GroupUndone, SqliteDriver } from './sqliteDriver.ts';

/** The tables of the service, in SQLite or PostgreSQL. */
export type Store = Kysely<Database>;

/** Location of the store: an SQLite file, or the URL of a PostgreSQL database. */
export type StorePlace = { file: string } | { url: string };

/** Milliseconds to wait for a connection to PostgreSQL, new or from the pool. */
const CONNECT_TIMEOUT_MS = 5000;
/** Milliseconds after which PostgreSQL cancels a statement, and ends a transaction without statements. */
const SERVER_LIMIT_MS = 8000;
/** Milliseconds after which a connection without the answer to a statement is lost. */
const ANSWER_TIMEOUT_MS = 10_000;
/** Milliseconds after which a connection is closed without an answer of the server. */
const CLOSE_TIMEOUT_MS = 5000;

/**
 * Opens a store; `destroy()` closes it. The time of statements in PostgreSQL is limited, so that lost connections are
 * replaced, unless a command migrates the store.
 */
export function openStore(place: StorePlace, hasLimits = true): Store {
  const dialect = 'file' in place ? sqliteDialect(place.file) : postgresDialect(place.url, hasLimits);
  return new Kysely<Database>({ dialect });
}

/** Makes a change that returns rows in a transaction, so that it is undone if a row cannot be read. */
export function inTransaction<Result>(store: Store, change: (work: Store) => Promise<Result>): Promise<Result> {
  return store.isTransaction ? change(store) : store.transaction().execute(change);
}

/**
 * Updates the tables to this version; instances that start together do it once. Returns the names of the applied
 * migrations.
 */
export async function migrateStore(store: Store): Promise<string[]> {
  const { error, results = [] } = await migratorOf(store).migrateToLatest();
  if (error !== undefined) throw error as Error;
  return results.map(({ migrationName }) => migrationName);
}

/** Differences between the tables and this version, by names of migrations. */
interface MigrationState {
  /** Not applied yet. */
  pending: string[];
  /** Applied by a newer version. */
  unknown: string[];
  /** True for a store without any migration. */
  isEmpty: boolean;
}

/** Compares the tables with this version; changes nothing. */
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

function postgresDialect(connectionString: string, hasLimits: boolean): Dialect {
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, parseInteger);
  const options = { connectionString, types, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true };
  const pool = new pg.Pool({
    ...options,
    ...(hasLimits ? { Client: LimitedClient, onConnect: setLimits } : { Client: PostgresClient }),
  });
  // The next user of a lost connection gets the error, and the pool replaces it; no other handler is needed.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => void client.on('error', () => undefined));
  return new PostgresDialect({ pool });
}

/** Throws for a number that would be rounded, as SQLite in the runtime does. */
function parseInteger(text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError(`Value is too large to be represented as a JavaScript number: ${text}`);
}

/** The driver orders transactions itself, and SQLite rolls back changes of tables with their transaction. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }

  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

type Query = (...all: unknown[]) => never;

/** A connection to PostgreSQL on which the server parses and plans the statements of `prepareQuery` only once. */
class PostgresClient extends pg.Client {
  override query(...[text, values, ...rest]: Parameters<Query>): never {
    const send = super.query.bind(this) as Query;
    const name = typeof text === 'string' ? statementNameOf(text) : undefined;
    return name === undefined ? send(text, values, ...rest) : send({ name, text, values }, ...rest);
  }
}

/** A connection that is lost if PostgreSQL does not answer in time; the pool replaces it. */
class LimitedClient extends PostgresClient {
  override query(...all: Parameters<Query>): never {
    const answer = super.query(...all) as Promise<unknown>;
    const timer = setTimeout(() => this.connection.stream.destroy(unanswered()), ANSWER_TIMEOUT_MS);
    return answer.finally(() => clearTimeout(timer)) as never;
  }

  /** A server that is away does not confirm the end of a connection. */
  override end(...all: Parameters<Query>): never {
    setTimeout(() => this.connection.stream.destroy(), CLOSE_TIMEOUT_MS).unref();
    return (super.end as Query)(...all);
  }
}

function unanswered(): Error {
  return new Error(`timeout expired: PostgreSQL did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`);
}

/**
 * Limits the time of statements, and of locks whose owner has lost its connection. Parameters of the connection would
 * have the same effect, but poolers refuse them.
 */
function setLimits(client: pg.ClientBase): void {
  const limits = `set statement_timeout = ${SERVER_LIMIT_MS}; set idle_in_transaction_session_timeout = ${SERVER_LIMIT_MS}`;
  // The pool waits for the promise, which its types do not have.
  return client.query(limits) as never;
}

/** Names of prepared statements by their text, for a server that keeps statements by name. */
const names = new Map<string, string>();

/** Assigns a name to a prepared statement, once. */
function nameStatement(text: string): void {
  if (!names.has(text)) names.set(text, `deployd_${names.size}`);
}

/** The name of a prepared statement by its text; undefined for any other statement. */
function statementNameOf(text: string): string | undefined {
  return names.get(text);
}

/** Placeholder of a parameter in a statement until it is executed. */
class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Creates the placeholder of a parameter in a statement. */
type ParameterOf<P> = <Name extends keyof P & string>(name: Name) => RawBuilder<P[Name]>;

/**
 * A statement for the hosts' calls, which is built and compiled once for each store instead of at each execution;
 * within a transaction it is built each time.
 */
export function prepareQuery<P extends object, Row>(
  build: (store: Store, parameter: ParameterOf<P>) => Compilable<Row>,
): (store: Store, parameters: P) => ReturnType<typeof execute<Row>> {
  const compiled = new WeakMap<Store, CompiledQuery<Row>>();
  const compile = (store: Store) => {
    const query = build(store, (name) => sql.val(new Parameter(name)) as never).compile();
    compiled.set(store, query);
    nameStatement(query.sql);
    return query;
  };
  return (store, parameters) => {
    const query = compiled.get(store) ?? compile(store);
    const values = query.parameters.map((value) =>
      value instanceof Parameter ? parameters[value.name as keyof P] : value,
    );
    return execute(store, { ...query, parameters: values });
  };
}

function execute<Row>(store: Store, query: CompiledQuery<Row>) {
  return store.executeQuery<Row>(query);
}

/** Throws unless the store accepts a durable write and has space for more. */
export async function proveWritable(store: Store): Promise<void> {
  await store.transaction().execute(async (work) => {
    await work
      .updateTable('signing_keys')
      .set((set) => ({ active_from: set.ref('active_from') }))
      .execute();
    // PostgreSQL can change a row even on a full disk; a new table needs a page of space.
    if (isPostgres(work)) await sql`create temporary table room on commit drop as select 1 as taken`.execute(work);
  });
}

/** Primary result codes of SQLite: busy, locked, out of memory, read-only, I/O error, disk full, cannot open. */
const sqliteCodes = [5, 6, 7, 8, 10, 13, 14];

/**
 * Classes of SQLSTATE: connection lost, read-only after a failover, transaction without statements, rolled back because
 * of others, resources such as the disk. Further: lock not available, statement took too long, shut down or starting,
 * I/O error.
 */
const postgresCodes = /^(08|25006|25P03|40|53|55P03|57014|57P|58)/;

/** Error codes of the runtime for a connection to PostgreSQL. */
const networkCodes = /^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|NOENT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN)$/;

/** Messages of the client for a lost connection; these errors have no code. */
const clientMessages = /^(Connection terminated|timeout expired|timeout exceeded|Client has encountered a connection)/;

/** True if the store is temporarily unavailable, so that the same call may succeed later. */
export function isStoreFailure(error: Error): boolean {
  if (error instanceof GroupUndone) return true;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (code === 'ERR_SQLITE_ERROR') return sqliteCodes.includes(Number(errcode) & 0xff);
  if (typeof code === 'string') return postgresCodes.test(code) || networkCodes.test(code);
  return clientMessages.test(error.message);
}
