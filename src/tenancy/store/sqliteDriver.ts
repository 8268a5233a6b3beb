import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';

/** Waits for the commit of a transaction's group. */
interface PendingCommit {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Largest number of cached prepared statements; the service has fewer. */
const MAX_STATEMENTS = 500;

/** Milliseconds for which a statement waits for another process, such as a backup, that has locked the file. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * SQLite in the runtime, with group commit: transactions run one after the other as savepoints of one transaction,
 * which is committed (and synced to the disk) when the event loop has handled all arrived events.
 *
 * - A transaction's promise resolves after the sync, so answered changes survive a power failure.
 * - A failed transaction is rolled back alone; if the common commit fails, all transactions of the group fail.
 * - Selects outside of transactions use a read-only connection, so they see only committed data.
 * - Each other statement outside of transactions is a separate transaction. It needs no savepoint, because SQLite rolls
 * back a failed statement. One that returns rows is refused: if a row cannot be read, SQLite keeps the change.
 */
export class SqliteDriver implements Driver {
  readonly #file: string;
  #writer!: Handle;
  #reader!: Handle;
  /** Resolvers of transactions that wait for their turn; null when no transaction is running. */
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
    // Its turn is over: the commit of its group failed and was rolled back.
    if (!connection.handle.isWriter) return;
    connection.handle = this.#reader;
    try {
      if (!this.#writer.database.isTransaction) return;
      this.#writer.run('rollback to one');
      this.#writer.run('release one');
    } finally {
      this.#endTurn();
    }
  }

  /** Runs one statement as a separate transaction. */
  async runAlone<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if ('returning' in query.query) throw new Error('a change that returns rows needs a transaction');
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

  /** Starts the turn of a transaction with its first statement; if that fails, the turn is over. */
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
    // A full disk or an I/O error rolls back the whole group.
    if (!this.#writer.database.isTransaction) this.#failGroup(new GroupUndone());
    const next = this.#waiting?.shift();
    if (next === undefined) this.#waiting = null;
    else next();
  }

  #scheduleCommit(): void {
    this.#nextCommit ??= setImmediate(() => {
      this.#nextCommit = undefined;
      // Wait for a transaction that is in the middle of an await.
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

  /** After some errors SQLite has already rolled back. */
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

/** A cached statement. */
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

  /** Runs a statement without parameters or rows. */
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
    // Its result contains the last inserted number, which may be too large even if the statement inserts nothing.
    if (!prepared.returnsRows) statement.setReadBigInts(true);
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

/** A connection that reads until its transaction starts, and then writes. */
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

/** Statements whose common commit was rolled back, for example because of a full disk. */
export class GroupUndone extends Error {
  constructor() {
    super('the database could not be written');
    this.name = 'GroupUndone';
  }
}
