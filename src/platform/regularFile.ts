import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/**
 * Reads regular files only: a FIFO, a socket or a device in their place could block or never end. Kernel files below
 * /proc count as regular.
 */

/**
 * Opens a file for reading; a symbolic link is followed only with `follow`. Throws EISDIR or ENOTREG for anything but a
 * regular file.
 */
export async function openRegularFile(path: string, { follow }: { follow: boolean }): Promise<FileHandle> {
  const file = await open(path, readFlags | (follow ? 0 : constants.O_NOFOLLOW)).catch(rethrowOpenError);
  try {
    requireRegularFile(await file.stat());
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

/**
 * Reads a small file synchronously. Throws EISDIR or ENOTREG for anything but a regular file, and EFBIG for one of more
 * than `maxBytes`.
 */
export function readRegularFile(path: string, maxBytes = Infinity): Buffer<ArrayBuffer> {
  const fd = tryOpen(() => openSync(path, readFlags));
  try {
    const stats = fstatSync(fd);
    requireRegularFile(stats);
    if (stats.size > maxBytes) throw Object.assign(new Error('too large'), { code: 'EFBIG' });
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Throws EISDIR or ENOTREG for anything but a regular file. */
export function requireRegularFile(stats: Stats): void {
  if (!stats.isFile()) throw notRegularError(stats.isDirectory() ? 'EISDIR' : 'ENOTREG');
}

const { O_NOCTTY, O_NONBLOCK, O_RDONLY } = constants;

/** Does not acquire a controlling terminal, does not block on a FIFO. */
const readFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

function tryOpen<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    return rethrowOpenError(error);
  }
}

/** Opening a socket, or a device without a driver, fails with ENXIO or ENODEV. */
function rethrowOpenError(error: unknown): never {
  const { code = '' } = error as NodeJS.ErrnoException;
  throw ['ENXIO', 'ENODEV'].includes(code) ? notRegularError('ENOTREG') : error;
}

function notRegularError(code: 'EISDIR' | 'ENOTREG'): Error {
  return Object.assign(new Error('not a regular file'), { code });
}
