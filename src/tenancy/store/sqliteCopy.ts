import { backup, DatabaseSync } from 'node:sqlite';

/** More than a store has. */
const ALL_PAGES = 2 ** 31 - 1;

/** Copies a SQLite store, which may be in use, into an empty file; the copy is of one moment, complete in that file. */
export async function copySqliteStore(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true });
  try {
    // All pages at once: in parts, each change by the service would begin the copy anew.
    await backup(source, to, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  packSqliteStore(to);
}

/** Brings what is in the log of a store that nobody uses into its file. */
export function packSqliteStore(file: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec('pragma journal_mode = delete');
  } finally {
    database.close();
  }
}

/** What is wrong with the file of a store; null if SQLite finds it sound. */
export function findSqliteDamage(file: string): string | null {
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const [first] = database.prepare('pragma quick_check(1)').all();
      const told = String(first?.['quick_check']);
      return told === 'ok' ? null : told;
    } finally {
      database.close();
    }
  } catch (error) {
    return (error as Error).message;
  }
}
