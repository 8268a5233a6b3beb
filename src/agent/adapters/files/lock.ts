import { accessSync, closeSync, constants, openSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import lockfile from 'lockfile';
import { Fault } from '../../../../machines/fault.ts';
import { readRegular } from '../../../platform/regularFile.ts';
import { diskFault, isEACCES, isEEXIST, isENOENT, isNoFile } from './files.ts';

/**
 * One tick at a time in a state directory (spec §13).
 *
 * - `lock.guard` decides: a tick holds the kernel's lock on it (through SQLite, which takes it with fcntl) from before its
 *   first look at `lock` until after its last. The kernel gives it back on any death, and to no child.
 * - So whoever holds the guard may judge `lock`: what lies there is a dead tick's, or another tool's, and is taken away.
 *   Only a record of a process that lives on (somebody removed the guard under it) is respected.
 * - `lock` is what people and tools see: made by the `lockfile` package, inside it who holds it and since when.
 * - The guard is never written to. It is never removed either: two ticks could then hold two files of that name.
 * - Closing any descriptor of the guard in a process frees that process's lock. Nothing else may open it there.
 * - A Lock frees itself when it is garbage collected: keep it for as long as the tick lasts.
 */
export class Lock {
  readonly #guard: DatabaseSync;
  readonly #path: string;

  constructor(guard: DatabaseSync, path: string) {
    this.#guard = guard;
    this.#path = path;
  }

  /** Lets the next tick in; a second call does nothing. */
  async release(): Promise<void> {
    if (!this.#guard.isOpen) return;
    lockfile.unlockSync(this.#path);
    this.#guard.close();
  }
}

/** Who holds the lock; `since` is RFC 3339 UTC. */
export interface Holder {
  held: boolean;
  pid: number | null;
  since: string | null;
}

/** Takes the lock of `stateDir` without waiting for a holder; Fault `busy` when another tick has it, `failed` when it cannot be used. */
export async function takeLock(stateDir: string): Promise<Lock> {
  const path = join(stateDir, 'lock');
  const guard = await takeGuard(stateDir);
  try {
    if (await isRespected(path)) throw busy(stateDir);
    engage(stateDir);
    return new Lock(guard, path);
  } catch (error) {
    guard.close();
    throw error;
  }
}

/** Tells who holds the lock of `stateDir`, without taking or disturbing it. */
export async function readLock(stateDir: string): Promise<Holder> {
  const holder = readRecord(join(stateDir, 'lock'));
  if (holder === null || !isAlive(holder)) return { held: false, pid: null, since: null };
  return { held: true, pid: holder.pid, since: holder.since };
}

/** `start` is in clock ticks after the boot that `boot` names; '' where the kernel's boot id is hidden. */
interface Record {
  pid: number;
  start: string;
  boot: string;
  since: string;
}

const sqlite = { busy: 5, corrupt: 11, notADatabase: 26 };

/** What its other errors mean here. */
const sqliteWords: { [code: number]: string } = {
  10: 'the disk reports an input/output error',
  13: 'no space left on the filesystem',
  14: 'it cannot be opened (permission denied, or too many open files)',
};

/**
 * SQLite takes its lock in several steps, so that of many who start together each may refuse the other. Nobody gives up
 * before a holder is named in `lock`, or a second has passed.
 */
async function takeGuard(stateDir: string): Promise<DatabaseSync> {
  const path = join(stateDir, 'lock.guard');
  makeUsable(path);
  for (let patience = 100; patience > 0; patience--) {
    const guard = tryGuard(path);
    if (typeof guard !== 'number') return guard;
    if (guard === sqlite.corrupt || guard === sqlite.notADatabase) empty(path);
    else if (guard !== sqlite.busy)
      throw new Fault('failed', `failed: cannot lock ${path}: ${sqliteWords[guard] ?? `sqlite error ${guard}`}`);
    else if ((await readLock(stateDir)).held) break;
    await sleep(20 * Math.random());
  }
  throw busy(stateDir);
}

/** SQLite would take no lock at all, and say nothing, on a file that it may only read. */
function makeUsable(path: string): void {
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
    const cure = `sudo chown --reference=${join(path, '..')} ${path} && sudo chmod 600 ${path}`;
    throw new Fault(
      'failed',
      `failed: cannot lock ${path}: it belongs to uid ${statSync(path).uid}; to cure it: ${cure}`,
    );
  }
}

/** The guard, locked, or SQLite's primary error code. */
function tryGuard(path: string): DatabaseSync | number {
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

/** Whatever somebody wrote into the guard would keep everybody out; nobody holds a guard that can be seen to be damaged. */
function empty(path: string): void {
  try {
    truncateSync(path);
  } catch (error) {
    throw diskFault('write', path, error);
  }
}

/** A process that is being killed frees its guard a moment before it counts as dead. */
async function isRespected(path: string): Promise<boolean> {
  for (let patience = 50; patience > 0; patience--) {
    const record = readRecord(path);
    if (record === null || record.pid === process.pid || !isAlive(record)) return false;
    await sleep(10);
  }
  return true;
}

function engage(stateDir: string): void {
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
    throw isEEXIST(error) ? busy(stateDir) : diskFault('write', path, error);
  }
}

function busy(stateDir: string): Fault {
  const { pid, since } = readRecord(join(stateDir, 'lock')) ?? { pid: 'unknown', since: 'unknown' };
  return new Fault('busy', `another tick holds the lock: pid=${pid} since=${since}`);
}

function ownRecord(): Record {
  const start = processStart(process.pid) ?? '';
  return { pid: process.pid, start, boot: bootId(), since: new Date().toISOString() };
}

/** Null when there is no lock, or nothing in it that a tick of this user would have written. */
function readRecord(path: string): Record | null {
  const text = readOr(path, 'null');
  try {
    const record: unknown = JSON.parse(text);
    return isRecord(record) ? record : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record {
  const record = { ...(value as Partial<Record> | null) };
  return (
    Number.isInteger(record.pid) && [record.start, record.boot, record.since].every((text) => typeof text === 'string')
  );
}

function isAlive(record: Record): boolean {
  const boot = bootId();
  if (boot !== '' && record.boot !== '' && boot !== record.boot) return false;
  return processStart(record.pid) === record.start;
}

/** Null for a process that is gone, or a zombie. */
function processStart(pid: number): string | null {
  const stat = readOr(`/proc/${pid}/stat`, '');
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === undefined || 'ZX'.includes(state) ? null : (rest[18] ?? null);
}

const bootId = (): string => readOr('/proc/sys/kernel/random/boot_id', '').trim();

/** Throws where it may be there all the same: a holder that cannot be seen must not be taken for dead. */
function readOr(path: string, otherwise: string): string {
  try {
    return readRegular(path).toString('utf8');
  } catch (error) {
    const isGone = isENOENT(error) || (error as NodeJS.ErrnoException).code === 'ESRCH';
    if (isGone || isNoFile(error) || isEACCES(error)) return otherwise;
    throw diskFault('read', path, error);
  }
}
