import { DatabaseSync } from 'node:sqlite';

/**
 * Lets one process at a time serve from a SQLite store. The kernel takes the lock back however the process ends. Returns
 * how to release it; null while another process has it.
 */
export function takeInstanceLock(file: string): (() => void) | null {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec('pragma journal_mode = memory; begin exclusive');
    return () => lock.close();
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw error;
  }
}

const SQLITE_BUSY = 5;
