import { randomInt } from 'node:crypto';
import { readdir as entriesOf } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Fault, heed } from '../../../../machines/fault.ts';
import { create, readdir, rename, symlink, sync, unlink, type Writing } from './atOnce.ts';

/**
 * The one place that changes files (besides the archive, which fills a directory nobody reads yet, and the lock).
 *
 * - A reader sees the old file or the new one, never a part, never other permissions than the final ones.
 * - When a call returns, its change survives a power cut, unless it says otherwise; when it throws, the old file that it names is untouched.
 * - What a killed process leaves behind is recognisable by name, and `sweepTemporaries` takes it away.
 */

/** Replaces `path` by `data`; `mode` holds whatever the umask is. Throws `DISK_WRITE_FAILED`. */
export async function writeDurably(path: string, data: string | Uint8Array, mode: number): Promise<void> {
  await replace(path, data, { mode, durably: true });
  await changing('write', path, () => sync(dirname(path)));
}

/**
 * Replaces files of one directory, by name and in this order, which is synced once: a power cut before the end may leave any
 * of them old, and none a part. Throws `DISK_WRITE_FAILED`.
 */
export async function writeAllDurably(dir: string, files: Record<string, string>, mode: number): Promise<void> {
  for (const [name, data] of Object.entries(files)) await replace(join(dir, name), data, { mode, durably: true });
  await changing('write', dir, () => sync(dir));
}

/** Replaces `path` without waiting for the disk: a power cut may take the change away. Throws `DISK_WRITE_FAILED`. */
export async function writeLazily(path: string, data: string, mode: number): Promise<void> {
  await replace(path, data, { mode, durably: false });
}

/** Removes what a power cut may bring back; it may be absent already. Throws `DISK_WRITE_FAILED`. */
export async function removeLazily(path: string): Promise<void> {
  await changing('remove', path, () => unlink(path).catch(unless(isENOENT)));
}

/** Removes the file or link `path`; it may be absent already. Throws `DISK_WRITE_FAILED`. */
export async function removeDurably(path: string): Promise<void> {
  await changing('remove', path, async () => {
    await unlink(path).catch(unless(isENOENT));
    await sync(dirname(path)).catch(unless(isENOENT));
  });
}

/** Moves `from` to `to` on the same filesystem; a directory never replaces one with content. Throws `DISK_WRITE_FAILED`. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await changing('write', to, async () => {
    await rename(from, to);
    await sync(dirname(to));
    if (dirname(from) !== dirname(to)) await sync(dirname(from));
  });
}

/** Points the link `path` at `target`, in one step for every reader. Throws `DISK_WRITE_FAILED`. */
export async function symlinkDurably(target: string, path: string): Promise<void> {
  const temporary = temporaryBeside(path);
  await changing('write', path, async () => {
    await discardingOnFailure(temporary, async () => {
      await symlink(target, temporary);
      await rename(temporary, path);
    });
    await sync(dirname(path));
  });
}

/**
 * Brings every file and directory below and including `dir` to the disk, some at a time. Not for the state directory itself:
 * closing any descriptor of the lock's guard would free a held lock. Throws `DISK_WRITE_FAILED`, or `stopped` when the signal
 * says so.
 */
export async function syncTree(dir: string, signal: AbortSignal): Promise<void> {
  const paths = pathsBelow(dir);
  const work = async () => {
    for await (const path of paths) {
      if (signal.aborted) return;
      await sync(path);
    }
  };
  await changing('write', dir, async () => {
    await Promise.all(Array.from({ length: syncsAtOnce }, work));
  });
  heed(signal);
}

/** Brings the content of a file to the disk; Throws `DISK_WRITE_FAILED`. */
export async function syncFile(path: string): Promise<void> {
  await changing('write', path, () => sync(path));
}

/** Removes from `dir` what writers that are dead by now left half-written. Throws `DISK_WRITE_FAILED`. */
export async function sweepTemporaries(dir: string): Promise<void> {
  await changing('remove', dir, async () => {
    for (const name of await readdir(dir)) {
      const writer = /^\.deployd\.tmp-(\d+)-\d+$/.exec(name)?.[1];
      if (writer !== undefined && !isRunning(Number(writer))) await unlink(join(dir, name)).catch(unless(isENOENT));
    }
  });
}

/** The disk is to blame, and nothing that is kept on it. */
export class DiskFault extends Fault {}

/** A filesystem's error as the journal tells it; `doing` is the verb, `path` what it was done to. */
export function diskFault(doing: 'write' | 'remove' | 'read', path: string, error: unknown): DiskFault {
  const code = codeOf(error) ?? 'unknown error';
  const why = explanations[code] ?? code;
  const details = doing === 'read' ? {} : { code: 'DISK_WRITE_FAILED' };
  return new DiskFault('failed', `failed: cannot ${doing} ${path}: ${why}`, details);
}

/** True when the file or directory does not exist. */
export const isENOENT = (error: unknown): boolean => codeOf(error) === 'ENOENT';

/** True when this user may not. */
export const isEACCES = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(codeOf(error) ?? '');

/** True when the filesystem, or this user's share of it, is full. */
export const isENOSPC = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');

/** True when something of that name is there already. */
export const isEEXIST = (error: unknown): boolean => codeOf(error) === 'EEXIST';

/** True when what was to be read as a link is none. */
export const isNoLink = (error: unknown): boolean => codeOf(error) === 'EINVAL';

/** True when what has that name is no file; a directory, which no file takes the place of, is told by its own code. */
export const isNoFile = (error: unknown): boolean => codeOf(error) === 'ENOTREG';

const explanations: Record<string, string | undefined> = {
  ENOSPC: 'no space left on the filesystem',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the filesystem is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EIO: 'the disk reports an input/output error',
  ENOENT: 'no such file or directory',
  EISDIR: 'a directory stands in its place; move it away',
  ENOTEMPTY: 'a directory with content stands in its place; move it away',
  EEXIST: 'something stands in its place; move it away',
  ENOTREG: 'it is no regular file; move it away',
  EFBIG: 'it is larger than any file that the agent wrote; move it away',
};

async function replace(path: string, data: string | Uint8Array, how: Writing): Promise<void> {
  const temporary = temporaryBeside(path);
  await changing('write', path, () =>
    discardingOnFailure(temporary, async () => {
      await create(temporary, data, how);
      await rename(temporary, path);
    }),
  );
}

async function changing(doing: 'write' | 'remove', path: string, change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    throw diskFault(doing, path, error);
  }
}

async function discardingOnFailure(temporary: string, change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

/** As many as Node waits for at the same time. */
const syncsAtOnce = 4;

async function* pathsBelow(dir: string): AsyncGenerator<string> {
  for (const entry of await entriesOf(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) yield* pathsBelow(path);
    if (entry.isFile()) yield path;
  }
  yield dir;
}

/** In a release too it is a name of the agent's own: no bundle may bring one that begins so. */
function temporaryBeside(path: string): string {
  return join(dirname(path), `.deployd.tmp-${process.pid}-${randomInt(2 ** 32)}`);
}

/** Of this user: another user's process did not write here. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function unless(expected: (error: unknown) => boolean): (error: unknown) => void {
  return (error) => {
    if (!expected(error)) throw error as Error;
  };
}

function codeOf(error: unknown): string | undefined {
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
