import { randomInt } from 'node:crypto';
import { readdir as entriesOf } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { throwIfStopped } from '../../../machines/fault.ts';
import { isENOENT, withDiskFault } from '../../core/errors.rules.ts';
import { createFile, readdir, rename, symlink, syncPath, unlink, type WriteOptions } from './fileSystem.ts';

/**
 * The only module that changes files, except for the archive, which fills a directory without readers, and the lock.
 *
 * - A reader sees the old file or the new one, never a partial file or other permissions than the final ones.
 * - When a call returns, its change survives a power cut, unless the function says otherwise; when it throws, the old
 * file is untouched.
 * - Temporary files of a killed process are recognised by name; `removeStaleTemporaries` removes them.
 */

/** Replaces `path` with `data`; `mode` applies whatever the umask is. Throws `DISK_WRITE_FAILED`. */
export async function writeDurably(path: string, data: string | Uint8Array, mode: number): Promise<void> {
  await replaceFile(path, data, { mode, durable: true });
  await withDiskFault('write', path, () => syncPath(dirname(path)));
}

/**
 * Replaces files of one directory, by name and in this order, then syncs the directory once: after a power cut any of
 * them may still be old, but none is partial. Throws `DISK_WRITE_FAILED`.
 */
export async function writeAllDurably(dir: string, files: Record<string, string>, mode: number): Promise<void> {
  for (const [name, data] of Object.entries(files)) await replaceFile(join(dir, name), data, { mode, durable: true });
  await withDiskFault('write', dir, () => syncPath(dir));
}

/** Replaces `path` without a sync: a power cut may revert the change. Throws `DISK_WRITE_FAILED`. */
export async function writeWithoutSync(path: string, data: string, mode: number): Promise<void> {
  await replaceFile(path, data, { mode, durable: false });
}

/** Removes `path` without a sync: a power cut may bring it back; it may be absent. Throws `DISK_WRITE_FAILED`. */
export async function removeWithoutSync(path: string): Promise<void> {
  await withDiskFault('remove', path, () => unlink(path).catch(ignoreIf(isENOENT)));
}

/** Removes the file or link `path`; it may be absent. Throws `DISK_WRITE_FAILED`. */
export async function removeDurably(path: string): Promise<void> {
  await withDiskFault('remove', path, async () => {
    await unlink(path).catch(ignoreIf(isENOENT));
    await syncPath(dirname(path)).catch(ignoreIf(isENOENT));
  });
}

/**
 * Moves `from` to `to` on the same filesystem; a directory never replaces one with content. Throws `DISK_WRITE_FAILED`.
 */
export async function renameDurably(from: string, to: string): Promise<void> {
  await withDiskFault('write', to, async () => {
    await rename(from, to);
    await syncPath(dirname(to));
    if (dirname(from) !== dirname(to)) await syncPath(dirname(from));
  });
}

/** Points the link `path` at `target`, atomically for every reader. Throws `DISK_WRITE_FAILED`. */
export async function symlinkDurably(target: string, path: string): Promise<void> {
  const temporary = temporaryPathFor(path);
  await withDiskFault('write', path, async () => {
    await removingOnFailure(temporary, async () => {
      await symlink(target, temporary);
      await rename(temporary, path);
    });
    await syncPath(dirname(path));
  });
}

/**
 * Syncs `dir` and every file and directory below it, a few at a time. Not for the state directory itself: closing any
 * descriptor of the lock's guard would release a held lock. Throws `DISK_WRITE_FAILED`, or `stopped` on abort.
 */
export async function syncTree(dir: string, signal: AbortSignal): Promise<void> {
  const paths = pathsBelow(dir);
  const work = async () => {
    for await (const path of paths) {
      if (signal.aborted) return;
      await syncPath(path);
    }
  };
  await withDiskFault('write', dir, async () => {
    await Promise.all(Array.from({ length: maxConcurrentSyncs }, work));
  });
  throwIfStopped(signal);
}

/** Syncs the content of a file. Throws `DISK_WRITE_FAILED`. */
export async function syncFile(path: string): Promise<void> {
  await withDiskFault('write', path, () => syncPath(path));
}

/** Removes temporaries of dead processes from `dir`. Throws `DISK_WRITE_FAILED`. */
export async function removeStaleTemporaries(dir: string): Promise<void> {
  await withDiskFault('remove', dir, async () => {
    for (const name of await readdir(dir)) {
      const writer = /^\.deployd\.tmp-(\d+)-\d+$/.exec(name)?.[1];
      if (writer !== undefined && !isRunning(Number(writer))) await unlink(join(dir, name)).catch(ignoreIf(isENOENT));
    }
  });
}

async function replaceFile(path: string, data: string | Uint8Array, how: WriteOptions): Promise<void> {
  const temporary = temporaryPathFor(path);
  await withDiskFault('write', path, () =>
    removingOnFailure(temporary, async () => {
      await createFile(temporary, data, how);
      await rename(temporary, path);
    }),
  );
}

async function removingOnFailure(temporary: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

/** The size of Node's thread pool. */
const maxConcurrentSyncs = 4;

async function* pathsBelow(dir: string): AsyncGenerator<string> {
  for (const entry of await entriesOf(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) yield* pathsBelow(path);
    if (entry.isFile()) yield path;
  }
  yield dir;
}

/** The prefix is reserved in releases too: no bundle may contain a file with it. */
function temporaryPathFor(path: string): string {
  return join(dirname(path), `.deployd.tmp-${process.pid}-${randomInt(2 ** 32)}`);
}

/** Processes of this user only: another user's process did not write here. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function ignoreIf(expected: (error: unknown) => boolean): (error: unknown) => void {
  return (error) => {
    if (!expected(error)) throw error as Error;
  };
}
