/** Statements whose common commit was undone, by a full disk for one. */
export class GroupUndone extends Error {
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
