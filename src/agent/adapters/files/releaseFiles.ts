import { constants } from 'node:fs';
import { lstat, mkdir, open, rename, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Stats } from 'node:fs';
import { heed } from '../../../../machines/fault.ts';
import { parentsOf } from '../../rules/bundle/archiveEntry.ts';
import { isWritable, type Contents, type FileFacts } from '../../rules/bundle/inventory.ts';
import { digestOfOpen } from './digest.ts';
import { diskFault, isEACCES, isENOENT, syncFile } from './files.ts';
import { openRegular } from '../../../platform/regularFile.ts';

/** A release to be compared with its bundle. */
export interface Compared {
  dir: string;
  contents: Contents;
  /** Paths that a container may write to. */
  writable: string[];
  /** What a container has made of a file of its own counts as damage too. */
  strict: boolean;
}

/** What of a bundle's files and directories is missing in a release, or is not as the bundle has it: paths, parents first. */
export async function damagesOf(compared: Compared, signal: AbortSignal): Promise<string[]> {
  const { directories, files } = compared.contents;
  const damaged = new Set<string>();
  const look = async (path: string, isWhole: () => Promise<boolean>) => {
    heed(signal);
    if (parentsOf(path).some((parent) => damaged.has(parent)) || !(await isWhole())) damaged.add(path);
  };
  for (const path of directories) await look(path, () => isDirectory(path, compared));
  for (const file of files) await look(file.path, () => isAsWritten(file, compared, signal));
  return [...damaged];
}

/** The content below a directory of the container's own may be hidden from the agent: that is the container's business. */
async function isDirectory(path: string, { dir, ...compared }: Compared): Promise<boolean> {
  const own = isWritable(path, compared);
  const found = await statsOf(join(dir, path));
  if (found === 'hidden') return own;
  return found !== null && found.isDirectory() && (own || modeOf(found) === 0o755);
}

async function isAsWritten(file: FileFacts, { dir, strict, ...compared }: Compared, signal: AbortSignal) {
  const own = isWritable(file.path, compared);
  const found = await statsOf(join(dir, file.path));
  if (found === 'hidden') return own;
  if (found === null || !found.isFile()) return false;
  if (own && !strict) return true;
  if (found.size !== file.size || modeOf(found) !== (file.executable ? 0o755 : 0o644)) return false;
  return (await digestBelow(join(dir, file.path), file.size, signal)) === file.sha256;
}

async function digestBelow(path: string, size: number, signal: AbortSignal): Promise<string | null> {
  try {
    await using file = await openRegular(path, { follow: false });
    return await digestOfOpen(file, size, signal);
  } catch (error) {
    heed(signal);
    if (isBroken(error)) return null;
    throw diskFault('read', path, error);
  }
}

async function statsOf(path: string): Promise<Stats | 'hidden' | null> {
  return lstat(path).catch((error: unknown) => {
    if (isEACCES(error)) return 'hidden';
    if (isBroken(error)) return null;
    throw diskFault('read', path, error);
  });
}

/** It is gone, or something else stands there, or the disk has lost it: the bundle has it still. */
function isBroken(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENOTREG', 'EISDIR', 'ELOOP', 'EIO'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );
}

function modeOf({ mode }: Stats): number {
  return mode & 0o7777;
}

/** What else became of a repair. */
export interface PutBack {
  /** Paths, and the names under which what stood there is kept. */
  kept: [string, string][];
  /** Paths in a directory that a container made its own, so that the agent may not write there. */
  left: string[];
}

/**
 * Puts files and directories of a bundle, unpacked in `from` on the same filesystem, where they belong in a release: file by
 * file, for containers may have mounted its directories. What stands in the way of another kind, and what a container made of
 * a file of its own, is kept beside. Throws `DISK_WRITE_FAILED`, or `stopped`.
 */
export async function putBack(
  paths: readonly string[],
  { from, ...compared }: Compared & { from: string },
  signal: AbortSignal,
): Promise<PutBack> {
  const { directories } = compared.contents;
  const told: PutBack = { kept: [], left: [] };
  for (const path of paths) {
    heed(signal);
    try {
      await using parent = await openDirectory(compared.dir, dirname(path));
      const place = join(parent.path, basename(path));
      const isDirectory = directories.includes(path);
      const aside = await clear(place, { isDirectory, keeps: isWritable(path, compared) });
      if (aside !== null) told.kept.push([path, aside]);
      if (isDirectory) await makeDirectory(place);
      else await moveFile(join(from, path), place);
      await parent.sync();
    } catch (error) {
      if (!isEACCES(error) || !isWritable(path, compared)) throw diskFault('write', join(compared.dir, path), error);
      told.left.push(path);
    }
  }
  return told;
}

/** Takes away what is in the way; the name under which it is kept, null when nothing is. */
async function clear(place: string, how: { isDirectory: boolean; keeps: boolean }): Promise<string | null> {
  const found = await lstat(place).catch((error: unknown) => {
    if (isENOENT(error)) return null;
    throw error;
  });
  if (found === null || (how.isDirectory && found.isDirectory())) return null;
  if (!how.isDirectory && found.isFile() && !how.keeps) return null;
  if (found.isDirectory() && (await isRemoved(place))) return null;
  const aside = `${basename(place)}.replaced-${new Date().toISOString().replaceAll(':', '-')}`;
  await rename(place, join(dirname(place), aside));
  return aside;
}

/** An engine that misses what it is to mount makes an empty directory in its place. */
async function isRemoved(dir: string): Promise<boolean> {
  return rmdir(dir).then(
    () => true,
    () => false,
  );
}

async function makeDirectory(place: string): Promise<void> {
  await mkdir(place).catch(() => undefined);
  await using made = await open(place, directoryOnly);
  await made.chmod(0o755);
  await made.sync();
}

async function moveFile(from: string, to: string): Promise<void> {
  await syncFile(from);
  await rename(from, to);
}

/**
 * A directory below `dir` by a path that no container can bend: each step is opened by itself, and no link is followed.
 * It stays the same one whatever becomes of its name.
 */
async function openDirectory(dir: string, below: string) {
  let opened = await open(dir, directoryOnly);
  for (const name of below === '.' ? [] : below.split('/')) {
    const above = opened;
    opened = await open(join(pathOf(above.fd), name), directoryOnly).finally(() => above.close());
  }
  const held = opened;
  return {
    path: pathOf(held.fd),
    sync: () => held.sync(),
    [Symbol.asyncDispose]: () => held.close(),
  };
}

const directoryOnly = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

function pathOf(fd: number): string {
  return `/proc/self/fd/${fd}`;
}
