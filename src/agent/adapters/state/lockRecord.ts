import { join } from 'node:path';
import { readRegularFile } from '../../../core/files.ts';
import { diskFault, isEACCES, isENOENT, isNotAFile } from '../../../core/errors.rules.ts';

/** Who holds the lock; `since` is RFC 3339 UTC. */
export interface LockHolder {
  held: boolean;
  pid: number | null;
  since: string | null;
}

/** Reads who holds the lock of `stateDir`, without side effects. */
export async function readLock(stateDir: string): Promise<LockHolder> {
  const holder = readRecord(join(stateDir, 'lock'));
  if (holder === null || !isAlive(holder)) return { held: false, pid: null, since: null };
  return { held: true, pid: holder.pid, since: holder.since };
}

/**
 * The content of `lock`: the process that holds it. `start` is in clock ticks since the boot that `boot` identifies; ''
 * when the kernel's boot id is hidden.
 */
export interface LockRecord {
  pid: number;
  start: string;
  boot: string;
  since: string;
}

/** The record of this process. */
export function ownRecord(): LockRecord {
  const start = processStart(process.pid) ?? '';
  return { pid: process.pid, start, boot: bootId(), since: new Date().toISOString() };
}

/** Null when there is no lock, or its content is not a record of a tick. */
export function readRecord(path: string): LockRecord | null {
  const text = readOrDefault(path, 'null');
  try {
    const record: unknown = JSON.parse(text);
    return isLockRecord(record) ? record : null;
  } catch {
    return null;
  }
}

function isLockRecord(value: unknown): value is LockRecord {
  const record = { ...(value as Partial<LockRecord> | null) };
  return (
    Number.isInteger(record.pid) && [record.start, record.boot, record.since].every((text) => typeof text === 'string')
  );
}

/** True when the process of a record is running. */
export function isAlive(record: LockRecord): boolean {
  const boot = bootId();
  if (boot !== '' && record.boot !== '' && boot !== record.boot) return false;
  return processStart(record.pid) === record.start;
}

/** Null for a process that is gone or a zombie. */
function processStart(pid: number): string | null {
  const stat = readOrDefault(`/proc/${pid}/stat`, '');
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === undefined || 'ZX'.includes(state) ? null : (rest[18] ?? null);
}

const bootId = (): string => readOrDefault('/proc/sys/kernel/random/boot_id', '').trim();

/** Throws when the file may exist: an unreadable holder must not count as dead. */
function readOrDefault(path: string, defaultText: string): string {
  try {
    return readRegularFile(path).toString('utf8');
  } catch (error) {
    const isGone = isENOENT(error) || (error as NodeJS.ErrnoException).code === 'ESRCH';
    if (isGone || isNotAFile(error) || isEACCES(error)) return defaultText;
    throw diskFault('read', path, error);
  }
}
