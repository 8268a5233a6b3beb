import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { openRegularFile } from '../../core/files.ts';
import type { TransportError } from '../../core/http.rules.ts';
import { certificateCure } from '../../core/untrusted.rules.ts';

/** Bytes `start` to `end`, both included, as in an HTTP range. */
export interface ByteRange {
  start: number;
  end: number;
}

/** An archive in its storage, and when it was stored, in milliseconds since 1970. */
export interface StoredArchive {
  sha256: string;
  storedAt: number;
}

/** Storage of bundles' archives, by their sha256. Each call throws `PeerError` if the storage cannot be used. */
export interface BundleStorage {
  /** Stores a local file as an archive durably, replacing an existing one; the caller deletes the file. */
  store: (sha256: string, file: string) => Promise<void>;
  /**
   * Returns the bytes of an archive, or a range of them, which the caller must read to the end or destroy; null if it
   * is not stored. An archive that is removed meanwhile can still be read to its end.
   */
  open: (sha256: string, range?: ByteRange) => Promise<Readable | null>;
  /**
   * Returns a URL from which anyone can read an archive for some minutes, so it is a secret; null if the storage does
   * not support links.
   */
  link: (sha256: string) => Promise<string | null>;
  /** All stored archives, in no order. */
  list: () => Promise<StoredArchive[]>;
  /** Removes an archive; an unknown one counts as removed. */
  remove: (sha256: string) => Promise<void>;
  /** Throws unless archives can be written. */
  check: () => Promise<void>;
}

/** True for the name of an archive; a storage may contain other objects. */
export function isArchiveName(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}

/** The name of an archive in its storage. Throws a TypeError if the argument is not a digest, which would be a bug. */
export function archiveName(sha256: string): string {
  if (!isArchiveName(sha256)) throw new TypeError('not a sha256 digest');
  return sha256;
}

/** The error of a call that failed. */
export function storageError(
  doing: 'store' | 'read' | 'list' | 'link to' | 'remove' | 'check',
  reason: string,
): PeerError {
  return new PeerError('bundle storage', `cannot ${doing}: ${reason}`);
}

/** Why a peer could not be called; `authorities` says where those that it is trusted by are configured. */
export function reasonOf({ code, untrusted }: TransportError, authorities: string): string {
  return untrusted === null ? code : `${untrusted.problem}: ${certificateCure(untrusted, authorities)}`;
}

/** A peer of the service cannot be used; the message names the peer, the call and the reason, and never a secret. */
export class PeerError extends Error {
  readonly peer: 'secretstore' | 'bundle storage' | 'mesh controller' | 'identity provider';
  /** Seconds after which the peer may be tried again. */
  readonly retryAfterS: number;

  constructor(peer: PeerError['peer'], message: string, retryAfterS = 5) {
    super(`${peer}: ${message}`);
    this.name = 'PeerError';
    this.peer = peer;
    this.retryAfterS = retryAfterS;
  }
}

/** Bytes to read at a time: many downloads run concurrently, each with a few of these chunks in memory. */
const CHUNK_BYTES = 65_536;
/** Milliseconds after which a temporary file that has not grown counts as the leftover of a crash. */
const STALE_MS = 3_600_000;
const TEMPORARY = '.deployd.tmp-';

/** Directory of bundles if no bucket is configured. */
export function bundleDirectoryOf(stateDir: string): string {
  return join(stateDir, 'bundles');
}

/** Stores bundles in a directory, which the first write creates. */
export function createDirectoryStorage(dir: string): BundleStorage {
  const pathOf = (sha256: string) => join(dir, archiveName(sha256));
  return {
    store: (sha256, file) =>
      attempt('store', async () => {
        const path = pathOf(sha256);
        await createDirectory(dir);
        await removeStaleTemporaries(dir);
        await withTemporary(dir, async (temporary) => {
          await copyFile(file, temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
          await sync(temporary);
          await rename(temporary, path);
        });
        await sync(dir);
      }),
    open: (sha256, { start, end } = { start: 0, end: Infinity }) =>
      attempt('read', async () => {
        const file = await openRegularFile(pathOf(sha256), { follow: false }).catch(ignoring('ENOENT', null));
        return file && file.createReadStream({ start, end, highWaterMark: CHUNK_BYTES });
      }),
    link: async () => null,
    list: () =>
      attempt('list', async () => {
        const names = (await readdir(dir).catch(ignoring('ENOENT', [] as string[]))).filter(isArchiveName);
        const stored = names.map(async (sha256) => {
          const stats = await stat(pathOf(sha256)).catch(ignoring('ENOENT', null));
          return stats === null ? [] : [{ sha256, storedAt: Math.floor(stats.mtimeMs) }];
        });
        return (await Promise.all(stored)).flat();
      }),
    remove: (sha256) =>
      attempt('remove', async () => {
        await unlink(pathOf(sha256)).catch(ignoring('ENOENT'));
        await sync(dir).catch(ignoring('ENOENT'));
      }),
    check: () =>
      attempt('check', async () => {
        await createDirectory(dir);
        await withTemporary(dir, (temporary) => writeFile(temporary, 'x', { flag: 'wx', mode: 0o600 }));
      }),
  };
}

/** Runs a call of the storage; the error of a system call contains its code. */
async function attempt<T>(doing: Parameters<typeof storageError>[0], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw storageError(doing, descriptions[code] ?? code);
  }
}

const descriptions: Record<string, string | undefined> = {
  ENOSPC: 'no space is left on the filesystem',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the filesystem is read-only',
  EACCES: 'permission denied',
  EIO: 'the disk reports an input/output error',
};

async function createDirectory(dir: string): Promise<void> {
  const created = await mkdir(dir, { recursive: true, mode: 0o700 });
  if (created !== undefined) await sync(dirname(created));
}

/** Passes a temporary name next to the archives to `work`, and deletes a file that still has this name afterwards. */
async function withTemporary(dir: string, work: (path: string) => Promise<void>): Promise<void> {
  const temporary = join(dir, `${TEMPORARY}${randomUUID()}`);
  try {
    await work(temporary);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function removeStaleTemporaries(dir: string): Promise<void> {
  const temporaries = (await readdir(dir)).filter((name) => name.startsWith(TEMPORARY));
  for (const path of temporaries.map((name) => join(dir, name))) {
    const stats = await stat(path).catch(ignoring('ENOENT', null));
    if (stats !== null && Date.now() - stats.mtimeMs > STALE_MS) await rm(path, { force: true });
  }
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path);
  await handle.sync();
}

/** Converts one error code to a result. */
function ignoring<T = void>(code: string, result?: T): (error: unknown) => T {
  return (error) => {
    if (codeOf(error) === code) return result as T;
    throw error as Error;
  };
}

/** The code of a system call's error, such as ENOSPC; undefined for any other error. */
function codeOf(error: unknown): string | undefined {
  const { code = '' } = Object(error) as { code?: unknown };
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}
