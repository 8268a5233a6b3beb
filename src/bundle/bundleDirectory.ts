import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stats } from 'node:fs';
import { Fault, throwIfStopped } from '../../machines/fault.ts';
import { digestOfHandle } from './fileDigest.ts';
import { diskFault } from '../platform/errors/diskFault.ts';
import { openRegularFile } from '../platform/regularFile.ts';
import type { BundleLimits } from './bundleLimits.ts';
import { validateEntry, occupiedBy, type ArchiveEntry, type OccupiedPath } from './rules/archive/archiveEntry.ts';
import { limitCure, limitDetails } from './rules/archive/limitDetails.ts';
import { bundleUnsafe } from './rules/archive/tarHeader.ts';
import type { BundleContents, BundleFile } from './rules/archive/inventory.ts';

/** Lists the files of a directory and validates them like the entries of an archive. Throws `BUNDLE_UNSAFE`. */
export async function readBundleDirectory(
  dir: string,
  limits: BundleLimits,
  signal: AbortSignal,
): Promise<BundleContents> {
  const contents: BundleContents = { files: [], directories: [] };
  const taken = new Map<string, OccupiedPath>();
  let [entries, bytes] = [0, 0];
  for await (const { name, stats } of walk({ dir, maxNames: limits.bundle_entries }, '')) {
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
  return contents;
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
}

async function* walk({ dir, maxNames }: WalkOptions, below: string): AsyncGenerator<{ name: string; stats: Stats }> {
  const names = await readNames(join(dir, below), maxNames + 1).catch((error: unknown) => {
    throw diskFault('read', join(dir, below), error);
  });
  for (const base of names.toSorted()) {
    const name = join(below, base);
    const stats = await lstat(join(dir, name));
    yield { name, stats };
    if (stats.isDirectory()) yield* walk({ dir, maxNames }, name);
  }
}

async function readNames(dir: string, maxNames: number): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(dir)) {
    names.push(name);
    if (names.length >= maxNames) break;
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
