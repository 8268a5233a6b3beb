import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { type CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from 'kysely';

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
 *   outside of transactions are transactions of their own.
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
    this.#writer.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
    this.#reader = new Handle(this.#file, false);
  }

  async acquireConnection(): Promise<SqliteConnection> {
    return new SqliteConnection(this, this.#reader);
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    const waiting = this.#waiting;
    if (waiting === null) this.#waiting = [];
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      this.#beginSavepoint();
    } catch (error) {
      this.#endTurn(connection);
      throw error;
    }
    connection.handle = this.#writer;
  }

  commitTransaction(connection: SqliteConnection): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#writer.exec('release one');
      this.#group.push({ resolve, reject });
      this.#endTurn(connection);
    });
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    // Its turn is over: the commit of its group has failed, and nothing of it is left.
    if (!connection.handle.isWriter) return;
    // A full disk or an I/O error undoes the whole group.
    if (this.#writer.database.isTransaction) this.#writer.exec('rollback to one; release one');
    else this.#failGroup(new Error('the database could not be written'));
    this.#endTurn(connection);
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    clearImmediate(this.#nextCommit);
    this.#commitGroup();
    this.#reader.database.close();
    this.#writer.database.close();
  }

  #beginSavepoint(): void {
    if (!this.#writer.database.isTransaction) {
      this.#writer.exec('begin immediate');
      this.#scheduleCommit();
    }
    this.#writer.exec('savepoint one');
  }

  #endTurn(connection: SqliteConnection): void {
    connection.handle = this.#reader;
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
      this.#writer.exec('commit');
    } catch (error) {
      this.#rollBack();
      this.#failGroup(error);
      return;
    }
    for (const { resolve } of this.#takeGroup()) resolve();
  }

  /** SQLite has done it already after some errors. */
  #rollBack(): void {
    if (this.#writer.database.isTransaction) this.#writer.exec('rollback');
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

/** A database with its prepared statements. */
class Handle {
  readonly database: DatabaseSync;
  readonly isWriter: boolean;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, isWriter: boolean) {
    this.database = new DatabaseSync(file, { readOnly: !isWriter, timeout: BUSY_TIMEOUT_MS });
    this.isWriter = isWriter;
  }

  exec(sql: string): void {
    this.database.exec(sql);
  }

  prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
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
    if (this.handle.isWriter || query.query.kind === 'SelectQueryNode') return this.#run(query);
    await this.#driver.beginTransaction(this);
    const result = await this.#runOrRollBack<Row>(query);
    await this.#driver.commitTransaction(this);
    return result;
  }

  async #runOrRollBack<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      return this.#run<Row>(query);
    } catch (error) {
      await this.#driver.rollbackTransaction(this);
      throw error;
    }
  }

  #run<Row>({ sql, parameters }: CompiledQuery): QueryResult<Row> {
    const statement = this.handle.prepare(sql);
    const values = parameters as SQLInputValue[];
    if (statement.columns().length > 0) return { rows: statement.all(...values) as Row[] };
    return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
  }

  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('rows are read in pages');
  }
}
