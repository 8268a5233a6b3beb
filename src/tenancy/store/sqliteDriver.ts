import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';

/** Waits for the commit of the group that a transaction belongs to. */
interface PendingCommit {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Prepared statements that are kept; the service has fewer different ones. */
const MAX_STATEMENTS = 500;
/** How long a statement waits for another process, such as a backup, that has locked the file. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * SQLite in the runtime, with group commit: transactions run one after the other as savepoints of one transaction, which
 * is committed (and synced to the disk) when the event loop has handled what had arrived.
 *
 * - A transaction's promise resolves after the sync, so what was answered survives a power cut.
 * - A transaction that fails is undone alone; if the common commit fails, all transactions of the group fail.
 * - Selects outside of transactions run on a read-only connection, so they see committed data only; other statements
 *   outside of transactions are transactions of their own, which need no savepoint: SQLite undoes a statement that fails.
 */
export class SqliteDriver implements Driver {
  readonly #file: string;
  #writer!: Handle;
  #reader!: Handle;
  /** Resolvers of transactions that wait for their turn; null when no transaction runs. */
  #waiting: (() => void)[] | null = null;
  #group: PendingCommit[] = [];
  #nextCommit: NodeJS.Immediate | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  async init(): Promise<void> {
    this.#writer = new Handle(this.#file, true);
    this.#writer.database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
    this.#reader = new Handle(this.#file, false);
  }

  async acquireConnection(): Promise<SqliteConnection> {
    return new SqliteConnection(this, this.#reader);
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    if (this.#waiting !== null) await this.#nextTurn();
    this.#beginTurn(() => this.#writer.run('savepoint one'));
    connection.handle = this.#writer;
  }

  commitTransaction(connection: SqliteConnection): Promise<void> {
    this.#writer.run('release one');
    connection.handle = this.#reader;
    return this.#commitTurn();
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    // Its turn is over: the commit of its group has failed, and nothing of it is left.
    if (!connection.handle.isWriter) return;
    connection.handle = this.#reader;
    if (this.#writer.database.isTransaction) {
      this.#writer.run('rollback to one');
      this.#writer.run('release one');
    }
    this.#endTurn();
  }

  /** Runs one statement as a transaction of its own. */
  async runAlone<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#waiting !== null) await this.#nextTurn();
    const result = this.#beginTurn(() => this.#writer.query<Row>(query));
    await this.#commitTurn();
    return result;
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    clearImmediate(this.#nextCommit);
    this.#commitGroup();
    this.#reader.database.close();
    this.#writer.database.close();
  }

  #nextTurn(): Promise<void> {
    return new Promise((resolve) => this.#waiting?.push(resolve));
  }

  /** Begins the turn of a transaction with its first statement; if that fails, the turn is over. */
  #beginTurn<T>(first: () => T): T {
    this.#waiting ??= [];
    try {
      if (!this.#writer.database.isTransaction) {
        this.#writer.run('begin immediate');
        this.#scheduleCommit();
      }
      return first();
    } catch (error) {
      this.#endTurn();
      throw error;
    }
  }

  #commitTurn(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#group.push({ resolve, reject });
      this.#endTurn();
    });
  }

  #endTurn(): void {
    // A full disk or an I/O error undoes the whole group.
    if (!this.#writer.database.isTransaction) this.#failGroup(new GroupUndone());
    const next = this.#waiting?.shift();
    if (next === undefined) this.#waiting = null;
    else next();
  }

  #scheduleCommit(): void {
    this.#nextCommit ??= setImmediate(() => {
      this.#nextCommit = undefined;
      // A transaction in the middle of an await ends first.
      if (this.#waiting === null) this.#commitGroup();
      else this.#scheduleCommit();
    });
  }

  #commitGroup(): void {
    if (!this.#writer.database.isTransaction) return;
    try {
      this.#writer.run('commit');
    } catch (error) {
      this.#rollBack();
      this.#failGroup(error);
      return;
    }
    for (const { resolve } of this.#takeGroup()) resolve();
  }

  /** SQLite has done it already after some errors. */
  #rollBack(): void {
    if (this.#writer.database.isTransaction) this.#writer.run('rollback');
  }

  #failGroup(error: unknown): void {
    for (const { reject } of this.#takeGroup()) reject(error);
  }

  #takeGroup(): PendingCommit[] {
    const group = this.#group;
    this.#group = [];
    return group;
  }
}

/** A statement that is kept. */
interface PreparedStatement {
  statement: StatementSync;
  returnsRows: boolean;
}

/** A database with its prepared statements. */
class Handle {
  readonly database: DatabaseSync;
  readonly isWriter: boolean;
  readonly #statements = new Map<string, PreparedStatement>();

  constructor(file: string, isWriter: boolean) {
    this.database = new DatabaseSync(file, { readOnly: !isWriter, timeout: BUSY_TIMEOUT_MS });
    this.isWriter = isWriter;
  }

  /** Runs a statement without parameters and rows. */
  run(sql: string): void {
    this.#prepare(sql).statement.run();
  }

  query<Row>({ sql, parameters }: CompiledQuery): QueryResult<Row> {
    const { statement, returnsRows } = this.#prepare(sql);
    const values = parameters as SQLInputValue[];
    if (returnsRows) return { rows: statement.all(...values) as Row[] };
    return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
  }

  #prepare(sql: string): PreparedStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.database.prepare(sql);
    const prepared = { statement, returnsRows: statement.columns().length > 0 };
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

/** A connection reads until its transaction begins, then it writes. */
class SqliteConnection implements DatabaseConnection {
  readonly #driver: SqliteDriver;
  handle: Handle;

  constructor(driver: SqliteDriver, reader: Handle) {
    this.#driver = driver;
    this.handle = reader;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const isInPlace = this.handle.isWriter || query.query.kind === 'SelectQueryNode';
    return isInPlace ? this.handle.query<Row>(query) : this.#driver.runAlone<Row>(query);
  }

  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('rows are read in pages');
  }
}

/** Statements whose common commit was undone, by a full disk for one. */
class GroupUndone extends Error {
  constructor() {
    super('the database could not be written');
    this.name = 'GroupUndone';
  }
}

/** Primary result codes of SQLite: busy, locked, out of memory, read-only, I/O error, disk full, cannot open. */
const sqliteCodes = [5, 6, 7, 8, 10, 13, 14];
/**
 * Classes of SQLSTATE: connection lost, read-only after a failover, rolled back because of others, resources such as the
 * disk, lock not available, shut down or starting, I/O error.
 */
const postgresCodes = /^(08|25006|40|53|55P03|57P|58)/;
/** What the runtime says of a connection to PostgreSQL. */
const networkCodes = /^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|NOENT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN)$/;
/** What the client says of a connection that is lost; these errors have no code. */
const clientMessages = /^(Connection terminated|timeout expired|timeout exceeded|Client has encountered a connection)/;

/** True if the store cannot be used at the moment, so that the same may succeed later. */
export function isStoreFailure(error: Error): boolean {
  if (error instanceof GroupUndone) return true;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (code === 'ERR_SQLITE_ERROR') return sqliteCodes.includes(Number(errcode) & 0xff);
  if (typeof code === 'string') return postgresCodes.test(code) || networkCodes.test(code);
  return clientMessages.test(error.message);
}
