import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, opendir, rename, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Fault, throwIfStopped } from '../../../machines/fault.ts';
import { parentsOf } from '../../bundle/archive/archiveEntries.rules.ts';
import {
  type BundleContents,
  type BundleFile,
  type Inventory,
  isWritable,
} from '../../bundle/archive/inventory.rules.ts';
import { diskFault, isEACCES, isENOENT } from '../../core/errors.rules.ts';
import { digestOfHandle, openRegularFile } from '../../core/files.ts';
import { syncFile } from '../state/durableFiles.ts';

/** A release to compare with its bundle. */
interface ReleaseComparison {
  dir: string;
  contents: BundleContents;
  /** Paths that a container may write to. */
  writable: string[];
  /** Report changes that a container made to its writable files as damage too. */
  strict: boolean;
}

/**
 * The paths of a bundle's files and directories that are missing in a release or differ from the bundle, parents first.
 */
export async function findDamage(compared: ReleaseComparison, signal: AbortSignal): Promise<string[]> {
  const { directories, files } = compared.contents;
  const damaged = new Set<string>();
  const checkPath = async (path: string, isIntact: () => Promise<boolean>) => {
    throwIfStopped(signal);
    if (parentsOf(path).some((parent) => damaged.has(parent)) || !(await isIntact())) damaged.add(path);
  };
  for (const path of directories) await checkPath(path, () => isDirectory(path, compared));
  for (const file of files) await checkPath(file.path, () => isUnchanged(file, compared, signal));
  return [...damaged];
}

/** A directory that a container may write to may be hidden from the agent; that is not damage. */
async function isDirectory(path: string, { dir, ...compared }: ReleaseComparison): Promise<boolean> {
  const mayDiffer = isWritable(path, compared);
  const found = await statsOf(join(dir, path));
  if (found === 'hidden') return mayDiffer;
  return found !== null && found.isDirectory() && (mayDiffer || modeOf(found) === 0o755);
}

async function isUnchanged(file: BundleFile, { dir, strict, ...compared }: ReleaseComparison, signal: AbortSignal) {
  const mayDiffer = isWritable(file.path, compared);
  const found = await statsOf(join(dir, file.path));
  if (found === 'hidden') return mayDiffer;
  if (found === null || !found.isFile()) return false;
  if (mayDiffer && !strict) return true;
  if (found.size !== file.size || modeOf(found) !== (file.executable ? 0o755 : 0o644)) return false;
  return (await digestIfIntact(join(dir, file.path), file.size, signal)) === file.sha256;
}

async function digestIfIntact(path: string, size: number, signal: AbortSignal): Promise<string | null> {
  try {
    await using file = await openRegularFile(path, { follow: false });
    return await digestOfHandle(file, size, signal);
  } catch (error) {
    throwIfStopped(signal);
    if (isDamage(error)) return null;
    throw diskFault('read', path, error);
  }
}

async function statsOf(path: string): Promise<Stats | 'hidden' | null> {
  return lstat(path).catch((error: unknown) => {
    if (isEACCES(error)) return 'hidden';
    if (isDamage(error)) return null;
    throw diskFault('read', path, error);
  });
}

/** The file is gone, has another type, or cannot be read from the disk any more; the bundle can replace it. */
function isDamage(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENOTREG', 'EISDIR', 'ELOOP', 'EIO'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );
}

function modeOf({ mode }: Stats): number {
  return mode & 0o7777;
}

/** The parts of a repair that needed more than a replacement. */
interface RepairResult {
  /** Paths, each with the new name of the file or directory that was in its place. */
  movedAside: [string, string][];
  /** Paths in a directory owned by a container, where the agent may not write. */
  skipped: string[];
}

/**
 * Restores files and directories of a bundle, unpacked in `from` on the same filesystem, in a release: file by file,
 * because containers may have mounted its directories. Anything of another type in the way, and files that a container
 * changed, are renamed and kept. Throws `DISK_WRITE_FAILED`, or `stopped`.
 */
export async function repairFiles(
  paths: readonly string[],
  { from, ...compared }: ReleaseComparison & { from: string },
  signal: AbortSignal,
): Promise<RepairResult> {
  const { directories } = compared.contents;
  const result: RepairResult = { movedAside: [], skipped: [] };
  for (const path of paths) {
    throwIfStopped(signal);
    try {
      await using parent = await openDirectory(compared.dir, dirname(path));
      const target = join(parent.path, basename(path));
      const isDirectory = directories.includes(path);
      const aside = await clearPath(target, { isDirectory, isKept: isWritable(path, compared) });
      if (aside !== null) result.movedAside.push([path, aside]);
      if (isDirectory) await makeDirectory(target);
      else await moveFile(join(from, path), target);
      await parent.sync();
    } catch (error) {
      if (!isEACCES(error) || !isWritable(path, compared)) throw diskFault('write', join(compared.dir, path), error);
      result.skipped.push(path);
    }
  }
  return result;
}

/** Clears a path; returns the new name of its old content, null when nothing was kept. */
async function clearPath(target: string, options: { isDirectory: boolean; isKept: boolean }): Promise<string | null> {
  const found = await lstat(target).catch((error: unknown) => {
    if (isENOENT(error)) return null;
    throw error;
  });
  if (found === null || (options.isDirectory && found.isDirectory())) return null;
  if (!options.isDirectory && found.isFile() && !options.isKept) return null;
  if (found.isDirectory() && (await isRemoved(target))) return null;
  const aside = `${basename(target)}.replaced-${new Date().toISOString().replaceAll(':', '-')}`;
  await rename(target, join(dirname(target), aside));
  return aside;
}

/** Container engines create an empty directory in place of a missing bind mount source. */
async function isRemoved(dir: string): Promise<boolean> {
  return rmdir(dir).then(
    () => true,
    () => false,
  );
}

async function makeDirectory(target: string): Promise<void> {
  await mkdir(target).catch(() => undefined);
  await using directory = await open(target, directoryOnly);
  await directory.chmod(0o755);
  await directory.sync();
}

async function moveFile(from: string, to: string): Promise<void> {
  await syncFile(from);
  await rename(from, to);
}

/**
 * Opens a directory below `dir` step by step without following links, so no container can redirect the path. The
 * descriptor stays valid whatever happens to the name.
 */
async function openDirectory(dir: string, below: string) {
  let current = await open(dir, directoryOnly);
  for (const name of below === '.' ? [] : below.split('/')) {
    const parent = current;
    try {
      current = await open(join(pathOf(parent.fd), name), directoryOnly);
    } finally {
      await parent.close();
    }
  }
  const directory = current;
  return {
    path: pathOf(directory.fd),
    sync: () => directory.sync(),
    [Symbol.asyncDispose]: () => directory.close(),
  };
}

const directoryOnly = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

function pathOf(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

/** A release that may contain files that others wrote. */
interface SearchedRelease {
  dir: string;
  /** Null if it is unknown: then every file counts as written by others. */
  inventory: Inventory | null;
  /** The search ends after this many paths. */
  limit: number;
}

/**
 * The paths below a release that neither its bundle nor the agent wrote, or that others have changed; sorted. A directory that the
 * agent cannot look into counts as such a path. Links are not followed.
 */
export async function findWrittenFiles(
  { dir, inventory, limit }: SearchedRelease,
  signal: AbortSignal,
): Promise<string[]> {
  const bundled = new Map((inventory?.files ?? []).map((file) => [file.path, file]));
  const found = await findAdded(dir, { known: bundled, limit }, signal);
  for (const { path, size, sha256 } of bundled.values()) {
    if (found.length >= limit) break;
    throwIfStopped(signal);
    if (await isChanged(join(dir, path), { size, sha256 }, signal)) found.push(path);
  }
  return found.toSorted();
}

async function findAdded(
  dir: string,
  { known, limit }: { known: ReadonlyMap<string, unknown>; limit: number },
  signal: AbortSignal,
): Promise<string[]> {
  const found: string[] = [];
  const pending = [''];
  for (let below = pending.pop(); below !== undefined; below = pending.pop()) {
    const prefix = below === '' ? '' : `${below}/`;
    try {
      for await (const entry of await opendir(join(dir, below))) {
        throwIfStopped(signal);
        if (found.length >= limit) return found;
        if (below === '' && isOfAgent(entry.name)) continue;
        if (entry.isDirectory()) pending.push(`${prefix}${entry.name}`);
        else if (!known.has(`${prefix}${entry.name}`)) found.push(`${prefix}${entry.name}`);
      }
    } catch (error) {
      if (error instanceof Fault) throw error;
      if (below !== '' || !isENOENT(error)) found.push(prefix || './');
    }
  }
  return found;
}

/** The generated files of a release, and temporary files of interrupted writes. */
function isOfAgent(name: string): boolean {
  return /^\.(env|deployd)(\.|$)/.test(name);
}

/** A missing file contains nothing; an unreadable one may. */
async function isChanged(
  path: string,
  bundled: { size: number; sha256: string },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await using file = await openRegularFile(path, { follow: false });
    if ((await file.stat()).size !== bundled.size) return true;
    return (await digestOfHandle(file, bundled.size, signal)) !== bundled.sha256;
  } catch (error) {
    throwIfStopped(signal);
    return !isENOENT(error) && (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
}
