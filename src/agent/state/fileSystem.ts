import * as fs from 'node:fs';
import { lstatSync, type Stats } from 'node:fs';
import { promisify } from 'node:util';
import { diskFault, isENOENT, isNotAFile } from '../../core/errors.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { wipe } from '../secrets/memory.ts';

/**
 * Synchronous versions of the calls of `node:fs/promises` that a tick makes for its few small files: the round trip
 * through the thread pool costs several times what such a call does (docs/performance.md). Only fsync goes through the
 * pool. No abort is noticed during a call, so large or many files are handled with `node:fs/promises` instead.
 */
const asPromise =
  <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
  (...args: Args) =>
    Promise.try(call, ...args);

export const chmod = asPromise(fs.chmodSync);
export const mkdir = asPromise((dir: string, options: fs.MakeDirectoryOptions) => fs.mkdirSync(dir, options));
export const readdir = asPromise((dir: string) => fs.readdirSync(dir));
export const readlink = asPromise((path: string) => fs.readlinkSync(path));
export const rename = asPromise(fs.renameSync);
export const stat = asPromise((path: string) => fs.statSync(path));
export const symlink = asPromise((target: string, path: string) => fs.symlinkSync(target, path));
export const unlink = asPromise(fs.unlinkSync);

/**
 * The text of a file, which may be a secret: the read buffer is wiped. Throws EISDIR or ENOTREG for anything but a
 * regular file, and EFBIG for one larger than any that the agent writes.
 */
export const readText = asPromise((path: string) => {
  const bytes = readRegularFile(path, maxTextBytes);
  try {
    return bytes.toString('utf8');
  } finally {
    wipe(bytes);
  }
});

/** The largest is the list of a bundle's files, with paths of up to a kilobyte each. */
const maxTextBytes = 256 * 2 ** 20;

/** How to write a file. */
export interface WriteOptions {
  mode: number;
  /** Sync the content before the file gets its name. */
  durable: boolean;
}

/** Creates a file, which must not exist; `mode` applies whatever the umask is. The intermediate buffer is wiped. */
export async function createFile(
  path: string,
  data: string | Uint8Array,
  { mode, durable }: WriteOptions,
): Promise<void> {
  using file = openDescriptor(path, 'wx', mode);
  fs.fchmodSync(file.fd, mode);
  const bytes = Buffer.from(data);
  try {
    fs.writeFileSync(file.fd, bytes);
  } finally {
    wipe(bytes);
  }
  if (durable) await fsync(file.fd);
}

/** Syncs a file or directory. */
export async function syncPath(path: string): Promise<void> {
  using file = openDescriptor(path, 'r');
  await fsync(file.fd);
}

const fsync = promisify(fs.fsync);

function openDescriptor(path: string, flags: string, mode?: number) {
  const fd = fs.openSync(path, flags, mode);
  return { fd, [Symbol.dispose]: () => fs.closeSync(fd) };
}

/**
 * The text of a small file; null when it is absent, or a FIFO or the like, which the next write replaces. Throws any
 * other error of the disk.
 */
export async function readTextIfExists(path: string): Promise<string | null> {
  return readText(path).catch((error: unknown) => {
    if (isENOENT(error) || isNotAFile(error)) return null;
    throw diskFault('read', path, error);
  });
}

/** The stats of a path without following links (lstat); null when it is absent. Throws any other error of the disk. */
export async function statIfExists(path: string): Promise<Stats | null> {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw diskFault('read', path, error);
  }
}

/** The names in a directory; empty when it is absent. Throws any other error of the disk. */
export async function readdirIfExists(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: unknown) => {
    if (isENOENT(error)) return [];
    throw diskFault('read', dir, error);
  });
}
