import { createHash } from 'node:crypto';
import fs, {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { throwIfStopped } from '../../machines/fault.ts';
import type { Sha } from '../../machines/types.ts';
import { diskFault, isENOENT } from './errors.rules.ts';

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

/** Lower-case hex sha256 of a file, null when it is absent. Throws `stopped` on abort. */
export async function digestOf(path: string, signal: AbortSignal): Promise<string | null> {
  try {
    await using file = await openRegularFile(path, { follow: true });
    return await digestOfHandle(file, Infinity, signal);
  } catch (error) {
    throwIfStopped(signal);
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  }
}

/** Lower-case hex sha256 of the first bytes of an open file. */
export async function digestOfHandle(file: FileHandle, maxBytes: number, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(chunkBytes, maxBytes)));
  for (let at = 0; at < maxBytes;) {
    throwIfStopped(signal);
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, maxBytes - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash.digest('hex');
}

const chunkBytes = 262_144;

/** True for a lower-case hex sha256. */
export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Returns the digest; throws a TypeError for anything else, which would be a bug of the caller. */
export function requireDigest(sha: Sha): Sha {
  if (!isDigest(sha)) throw new TypeError('not a sha256 digest');
  return sha;
}

/**
 * The text of a file written by people, truncated to `maxBytes`, without a byte order mark (of `latin1` with it). Null
 * when it is absent, not a regular file (a link included), or the name is impossible. Throws any other error of the
 * disk.
 */
export async function readCapped(
  path: string,
  maxBytes: number,
  encoding: 'utf8' | 'latin1' = 'utf8',
): Promise<string | null> {
  try {
    await using file = await openRegularFile(path, { follow: false });
    // one byte more, so that an empty file is read too, and reports its error
    const length = Math.min((await file.stat()).size + 1, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.toString(encoding, 0, bytesRead).replace(/^\ufeff/, '');
  } catch (error) {
    if (notAFileCodes.has((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw diskFault('read', path, error);
  }
}

const notAFileCodes = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ENOTREG',
  'ENXIO',
  'ENAMETOOLONG',
  'ELOOP',
  'ERR_INVALID_ARG_VALUE',
]);

/** Of `node:fs`, since the end of a tick would load `node:fs/promises` for these two alone. */
const [stat, statfs] = [promisify(fs.stat), promisify(fs.statfs)];

/** One filesystem and the paths on it; `freeBytes` is null when it is unknown. */
interface Filesystem {
  device: string;
  paths: string[];
  freeBytes: number | null;
}

/** The distinct filesystems of these paths. A path that is absent or not accessible counts as its nearest parent. */
export async function filesystemsOf(paths: string[]): Promise<Filesystem[]> {
  const byDevice = new Map<string, Filesystem>();
  for (const path of paths) {
    const filesystem = await statFilesystem(path);
    const known = byDevice.get(filesystem.device);
    if (known) known.paths.push(path);
    else byDevice.set(filesystem.device, { ...filesystem, paths: [path] });
  }
  return [...byDevice.values()];
}

async function statFilesystem(path: string): Promise<{ device: string; freeBytes: number | null }> {
  try {
    const { dev } = await stat(path);
    const { bavail, bsize } = await statfs(path);
    return { device: String(dev), freeBytes: bavail * bsize };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if ((code === 'ENOENT' || code === 'EACCES') && path !== '/') return statFilesystem(dirname(path));
    return { device: `unknown:${path}`, freeBytes: null };
  }
}

/** The names in a directory, in order; none where there is no such directory. Throws other errors of the disk. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).toSorted();
  } catch (error) {
    if (isENOENT(error)) return [];
    throw error;
  }
}

/** Where a path leads, all links followed; the path itself while it is not there, or cannot be followed. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Whether something is at a path, as far as this user can see. */
export function isThere(path: string): boolean {
  return existsSync(path);
}
