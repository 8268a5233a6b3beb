import { accessSync, closeSync, constants, openSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import lockfile from 'lockfile';
import { Fault } from '../../../machines/fault.ts';
import { diskFault, isEACCES, isEEXIST, isENOENT, isNotAFile } from '../../core/errors.rules.ts';
import { readRegularFile } from '../../core/files.ts';

/**
 * Allows one tick at a time in a state directory (spec §13).
 *
 * - `lock.guard` is decisive: a tick holds the kernel's lock on it (through SQLite, which uses fcntl) from before it
 * first reads `lock` until after its last access. The kernel releases it when the process dies, and children do not
 * inherit it.
 * - So the holder of the guard may interpret `lock`: a file there is from a dead tick or another tool, and is removed.
 * Only the record of a live process (whose guard file was removed) is respected.
 * - `lock` is for people and tools: created by the `lockfile` package, with the holder and start time inside.
 * - The guard file is never written to, and never removed: two ticks could then hold two files of that name.
 * - Closing any descriptor of the guard file in a process releases that process's lock. Nothing else may open it there.
 * - A Lock releases itself when it is garbage collected: keep a reference for the whole tick.
 */
export class Lock {
  readonly #guard: DatabaseSync;
  readonly #path: string;

  constructor(guard: DatabaseSync, path: string) {
    this.#guard = guard;
    this.#path = path;
  }

  /** Releases the lock; a second call does nothing. */
  async release(): Promise<void> {
    if (!this.#guard.isOpen) return;
    lockfile.unlockSync(this.#path);
    this.#guard.close();
  }
}

/**
 * Acquires the lock of `stateDir` without waiting for a holder. Throws Fault `busy` when another tick holds it,
 * `failed` when it cannot be used.
 */
export async function acquireLock(stateDir: string): Promise<Lock> {
  const path = join(stateDir, 'lock');
  const guard = await acquireGuard(stateDir);
  try {
    if (await isHeldByLiveProcess(path)) throw busyFault(stateDir);
    writeLockFile(stateDir);
    return new Lock(guard, path);
  } catch (error) {
    guard.close();
    throw error;
  }
}

const sqliteCodes = { busy: 5, corrupt: 11, notADatabase: 26 };

/** Meaning of other SQLite errors in this context. */
const sqliteErrors: { [code: number]: string } = {
  10: 'the disk reports an input/output error',
  13: 'no space left on the filesystem',
  14: 'it cannot be opened (permission denied, or too many open files)',
};

/**
 * SQLite acquires its lock in several steps, so concurrent processes may all be refused. Each retries until `lock`
 * names a holder, or a second has passed.
 */
async function acquireGuard(stateDir: string): Promise<DatabaseSync> {
  const path = join(stateDir, 'lock.guard');
  ensureGuardFile(path);
  for (let tries = 100; tries > 0; tries--) {
    const guard = tryAcquireGuard(path);
    if (typeof guard !== 'number') return guard;
    if (guard === sqliteCodes.corrupt || guard === sqliteCodes.notADatabase) truncateGuard(path);
    else if (guard !== sqliteCodes.busy)
      throw new Fault('failed', `failed: cannot lock ${path}: ${sqliteErrors[guard] ?? `sqlite error ${guard}`}`);
    else if ((await readLock(stateDir)).held) break;
    await sleep(20 * Math.random());
  }
  throw busyFault(stateDir);
}

/** Creates the guard file, and requires write access: on a read-only file SQLite silently acquires no lock. */
function ensureGuardFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!isEEXIST(error)) throw diskFault('write', path, error);
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    if (!statSync(path).isFile()) throw Object.assign(new Error('no file'), { code: 'ENOTREG' });
  } catch (error) {
    if (!isEACCES(error)) throw diskFault('read', path, error);
    const command = `sudo chown --reference=${join(path, '..')} ${path} && sudo chmod 600 ${path}`;
    throw new Fault(
      'failed',
      `failed: cannot lock ${path}: it belongs to uid ${statSync(path).uid}; to cure it: ${command}`,
    );
  }
}

/** The locked guard, or SQLite's primary error code. */
function tryAcquireGuard(path: string): DatabaseSync | number {
  const guard = new DatabaseSync(path, { open: false, timeout: 0 });
  try {
    guard.open();
    guard.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return guard;
  } catch (error) {
    if (guard.isOpen) guard.close();
    return Number((error as { errcode?: number }).errcode) & 0xff;
  }
}

/** Foreign content in the guard file would block every tick. A guard that can be read as damaged is not held. */
function truncateGuard(path: string): void {
  try {
    truncateSync(path);
  } catch (error) {
    throw diskFault('write', path, error);
  }
}

/** Polls, because a killed process releases its guard shortly before it counts as dead. */
async function isHeldByLiveProcess(path: string): Promise<boolean> {
  for (let tries = 50; tries > 0; tries--) {
    const record = readRecord(path);
    if (record === null || record.pid === process.pid || !isAlive(record)) return false;
    await sleep(10);
  }
  return true;
}

function writeLockFile(stateDir: string): void {
  const path = join(stateDir, 'lock');
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isENOENT(error)) throw diskFault('remove', path, error);
  }
  try {
    lockfile.lockSync(path);
    writeFileSync(path, JSON.stringify(ownRecord()));
  } catch (error) {
    throw isEEXIST(error) ? busyFault(stateDir) : diskFault('write', path, error);
  }
}

function busyFault(stateDir: string): Fault {
  const { pid, since } = readRecord(join(stateDir, 'lock')) ?? { pid: 'unknown', since: 'unknown' };
  return new Fault('busy', `another tick holds the lock: pid=${pid} since=${since}`);
}

/** The holder of the lock; `since` is RFC 3339 UTC. */
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
