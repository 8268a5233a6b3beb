import { createHash } from 'node:crypto';
import { createWriteStream, type Stats } from 'node:fs';
import { lstat, open, opendir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import { Header, type HeaderData } from 'tar/header';
import { Pax } from 'tar/pax';
import { Fault, throwIfStopped } from '../../../machines/fault.ts';
import { diskFault, withDiskFault } from '../../core/errors.rules.ts';
import { digestOfHandle, openRegularFile, readCapped } from '../../core/files.ts';
import {
  type ArchiveEntry,
  type BundleLimits,
  directoriesOf,
  limitCure,
  limitDetails,
  occupiedBy,
  type OccupiedPath,
  parentsOf,
  validateEntry,
} from './archiveEntries.rules.ts';
import type { BundleContents, BundleFile } from './inventory.rules.ts';
import {
  IGNORE_NAME,
  type LeavesOut,
  type LeftOut,
  maxIgnoreBytes,
  noteLeftOut,
  parseIgnoreFile,
} from './leftOut.rules.ts';
import { blockBytes, bundleUnsafe } from './tarHeader.rules.ts';

/** Path of the manifest in a bundle. */
export const MANIFEST_NAME = 'manifest.json';

/** File that marks the directory of an import which differs from its project; it is never packed. */
export const UNFINISHED_NAME = '.deployd.unfinished';

/** A directory to pack, and the archive that it becomes. */
interface PackRequest {
  dir: string;
  /** Text of the bundle's manifest; one in the directory is left out. */
  manifest: string;
  /** The archive, which is created. */
  file: string;
  signal: AbortSignal;
}

/** How an archive is compressed; `gzip` by default. */
export type Compression = 'gzip' | 'zstd';

/** An archive that was written. */
export interface PackedBundle {
  sha256: string;
  sizeBytes: number;
}

/**
 * Packs everything below a directory, so that the same files always give the same archive, whatever their owners, times
 * and order. Throws `BUNDLE_UNSAFE` for content that no bundle may have, Faults of the disk, and `stopped` on abort;
 * then there is no archive.
 */
export async function packDirectory(request: PackRequest, limits: BundleLimits): Promise<PackedBundle> {
  return packContents(request, await readBundleDirectory(request.dir, limits, request.signal));
}

/** Packs only the listed files and directories of a directory; otherwise like `packDirectory`. */
export async function packContents(
  request: PackRequest,
  contents: BundleContents,
  compression: Compression = 'gzip',
): Promise<PackedBundle> {
  const { file, signal } = request;
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const measured = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      yield chunk;
    }
  };
  const compressor = compression === 'gzip' ? createGzip() : createZstdCompress();
  await withDiskFault('write', file, async () => (await open(file, 'wx')).close());
  try {
    // Not created again by a stream that opens it after it was removed.
    const archive = createWriteStream(file, { flags: 'r+' });
    await pipeline(archiveOf(request, contents), compressor, measured, archive, { signal });
    return { sha256: hash.digest('hex'), sizeBytes };
  } catch (error) {
    await rm(file, { force: true });
    throwIfStopped(signal);
    throw error instanceof Fault ? error : diskFault('write', file, error);
  }
}

/** The manifest comes first, so that whoever reads the archive need not search for it. */
async function* archiveOf({ dir, manifest }: PackRequest, contents: BundleContents): AsyncGenerator<Buffer> {
  const text = Buffer.from(manifest);
  yield encodeMember({ path: MANIFEST_NAME, kind: 'file', executable: false, size: text.length });
  yield Buffer.concat([text, padding(text.length)]);
  for (const member of membersOf(contents)) {
    yield encodeMember(member);
    if (member.kind === 'file') yield* contentOf(dir, member);
  }
  yield endOfArchive;
}

/** In the order of the paths, a directory before what is in it. */
function membersOf({ directories, files }: BundleContents): TarMember[] {
  const members: TarMember[] = [
    ...directories.map((path) => ({ path, kind: 'directory' as const, executable: true, size: 0 })),
    ...files.map(({ path, size, executable }) => ({ path, kind: 'file' as const, executable, size })),
  ];
  const own = members.filter(({ path }) => path !== MANIFEST_NAME);
  return own.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

async function* contentOf(dir: string, { path, size }: TarMember): AsyncGenerator<Buffer> {
  const file = join(dir, path);
  let bytes = 0;
  try {
    const opened = await openRegularFile(file, { follow: false });
    // One byte more, so that a file that grows is noticed. The stream closes the file.
    const chunks: AsyncIterable<Buffer> = opened.createReadStream({ start: 0, end: size });
    for await (const chunk of chunks) {
      bytes += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw diskFault('read', file, error);
  }
  if (bytes !== size) throw new Fault('failed', `failed: ${file} was changed while it was packed`);
  yield padding(size);
}

/**
 * Lists the files of a directory that belong in a bundle, and validates them like the entries of an archive. Leaves out
 * a directory if everything in it is left out. Throws `BUNDLE_UNSAFE`.
 */
export async function readBundleDirectory(
  dir: string,
  limits: BundleLimits,
  signal: AbortSignal,
): Promise<BundleContents> {
  const leftOut: LeftOut = { count: 0, paths: [] };
  const leavesOut = await readIgnoreFile(dir);
  const contents: BundleContents = { files: [], directories: [], leftOut };
  const taken = new Map<string, OccupiedPath>();
  const emptied = new Set<string>();
  const isIn = (path: string, isDirectory: boolean): boolean => {
    if (!leavesOut(path, isDirectory)) return true;
    noteLeftOut(leftOut, path, isDirectory);
    for (const above of parentsOf(path)) emptied.add(above);
    return false;
  };
  let [entries, bytes] = [0, 0];
  for await (const { name, stats } of walk({ dir, maxNames: limits.bundle_entries, isIn }, '')) {
    throwIfStopped(signal);
    const entry = validateEntry({ name, ...tarHeaderOf(stats) }, taken);
    if ('cure' in entry) throw bundleUnsafe(entry.text, entry.cure);
    for (const [path, occupant] of occupiedBy(entry)) taken.set(path, occupant);
    [entries, bytes] = [entries + 1, bytes + entry.size];
    if (entries > limits.bundle_entries)
      throw bundleUnsafe(limitDetails.bundle_entries(limits.bundle_entries), limitCure('bundle_entries'));
    if (bytes > limits.unpacked_bytes)
      throw bundleUnsafe(limitDetails.unpacked_bytes(limits.unpacked_bytes), limitCure('unpacked_bytes'));
    if (entry.kind === 'directory') contents.directories.push(entry.path);
    else contents.files.push(await fileFactsOf(dir, entry, signal));
  }
  return { ...contents, directories: withoutEmptied(contents, emptied) };
}

/** Omits the directories whose whole content was left out; git has no empty directories either. */
function withoutEmptied({ directories, files }: BundleContents, emptied: ReadonlySet<string>): string[] {
  const others = directories.filter((path) => !emptied.has(path));
  const needed = directoriesOf([...files.map(({ path }) => path), ...others]);
  return directories.filter((path) => !emptied.has(path) || needed.has(path));
}

/** Reads the ignore file of a directory. Throws `BUNDLE_UNSAFE` if a pattern is unusable. */
export async function readIgnoreFile(dir: string): Promise<LeavesOut> {
  const parsed = parseIgnoreFile(await readCapped(join(dir, IGNORE_NAME), maxIgnoreBytes + 1));
  if ('fault' in parsed) throw bundleUnsafe(parsed.fault.text, parsed.fault.cure);
  return parsed.leavesOut;
}

async function fileFactsOf(dir: string, { path, size, mode }: ArchiveEntry, signal: AbortSignal): Promise<BundleFile> {
  const file = join(dir, path);
  try {
    await using opened = await openRegularFile(file, { follow: false });
    return { path, size, sha256: await digestOfHandle(opened, size, signal), executable: (mode & 0o100) !== 0 };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw diskFault('read', file, error);
  }
}

interface WalkOptions {
  dir: string;
  /** Maximum number of names per directory; one more exceeds the limit of the bundle. */
  maxNames: number;
  isIn: (path: string, isDirectory: boolean) => boolean;
}

async function* walk(options: WalkOptions, below: string): AsyncGenerator<{ name: string; stats: Stats }> {
  const { dir } = options;
  const names = await readNames(options, below).catch((error: unknown) => {
    throw diskFault('read', join(dir, below), error);
  });
  for (const base of names.toSorted()) {
    const name = join(below, base);
    const stats = await lstat(join(dir, name));
    yield { name, stats };
    if (stats.isDirectory()) yield* walk(options, name);
  }
}

async function readNames({ dir, maxNames, isIn }: WalkOptions, below: string): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of await opendir(join(dir, below))) {
    if (!isIn(join(below, entry.name), entry.isDirectory())) continue;
    names.push(entry.name);
    if (names.length > maxNames) break;
  }
  return names;
}

function tarHeaderOf(stats: Stats): { type: string; mode: number; size: number } {
  const kinds: [boolean, string][] = [
    [stats.isFile(), '0'],
    [stats.isSymbolicLink(), '2'],
    [stats.isCharacterDevice(), '3'],
    [stats.isBlockDevice(), '4'],
    [stats.isDirectory(), '5'],
    [stats.isFIFO(), '6'],
  ];
  const type = kinds.find(([is]) => is)?.[1] ?? '?';
  return { type, mode: stats.mode & 0o7777, size: stats.isFile() ? stats.size : 0 };
}

/** A file or directory of an archive that is written. */
interface TarMember {
  /** Relative; of a directory without a slash at the end. */
  path: string;
  kind: 'file' | 'directory';
  executable: boolean;
  /** Bytes; 0 for a directory. */
  size: number;
}

/**
 * The bytes before the content of a member. It says nothing of where and when the archive was made: owner, group and time
 * are 0, the mode is 0755 or 0644. Names that do not fit a plain header are in a separate pax header.
 */
function encodeMember({ path, kind, executable, size }: TarMember): Buffer {
  const mode = kind === 'directory' || executable ? 0o755 : 0o644;
  const name = kind === 'directory' ? `${path}/` : path;
  const own = { type: kind === 'directory' ? 'Directory' : 'File', mode, size } as const;
  if (/^[ -~]{1,100}$/.test(name)) return encodeHeader({ ...own, path: name });
  const body = Buffer.from(new Pax({ path: name }).encodeBody());
  const pax = encodeHeader({ type: 'ExtendedHeader', path: 'PaxHeader', mode: 0o644, size: body.length });
  return Buffer.concat([pax, body, padding(body.length), encodeHeader({ ...own, path: 'PaxName' })]);
}

/** The bytes after the content of a member. */
function padding(size: number): Buffer {
  return Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
}

/** The bytes after the last member. */
const endOfArchive: Readonly<Buffer> = Buffer.alloc(2 * blockBytes);

function encodeHeader(fields: HeaderData): Buffer {
  const block = Buffer.alloc(blockBytes);
  new Header({ ...fields, uid: 0, gid: 0, mtime: new Date(0) }).encode(block);
  return block;
}
