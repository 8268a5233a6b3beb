import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stats } from 'node:fs';
import { Fault, heed } from '../../../../machines/fault.ts';
import { digestOfOpen } from '../../adapters/files/digest.ts';
import { diskFault } from '../../adapters/files/files.ts';
import { openRegular } from '../../../platform/regularFile.ts';
import type { Settings } from '../../config/settings.ts';
import { judgeEntry, placesOf, type Entry, type Taken } from '../../rules/bundle/archiveEntry.ts';
import { unsafe } from '../../rules/bundle/tarHeader.ts';
import type { Contents, FileFacts } from '../../rules/bundle/inventory.ts';

/** Judges the files of a directory as those of an archive made of it, and tells them. Throws `BUNDLE_UNSAFE`. */
export async function judgeDirectory(dir: string, limits: Settings['limits'], signal: AbortSignal): Promise<Contents> {
  const contents: Contents = { files: [], directories: [] };
  const taken = new Map<string, Taken extends ReadonlyMap<string, infer Place> ? Place : never>();
  let [entries, bytes] = [0, 0];
  for await (const { name, stats } of walk({ dir, most: limits.bundle_entries }, '')) {
    heed(signal);
    const entry = judgeEntry({ name, ...headerOf(stats) }, taken);
    if (typeof entry === 'string') throw unsafe(entry);
    for (const [place, occupant] of placesOf(entry)) taken.set(place, occupant);
    [entries, bytes] = [entries + 1, bytes + entry.size];
    if (entries > limits.bundle_entries) throw unsafe(`more than ${limits.bundle_entries} files and directories`);
    if (bytes > limits.unpacked_bytes) throw unsafe(`more than ${limits.unpacked_bytes} bytes`);
    if (entry.kind === 'directory') contents.directories.push(entry.path);
    else contents.files.push(await factsOf(dir, entry, signal));
  }
  return contents;
}

async function factsOf(dir: string, { path, size, mode }: Entry, signal: AbortSignal): Promise<FileFacts> {
  const file = join(dir, path);
  try {
    await using opened = await openRegular(file, { follow: false });
    return { path, size, sha256: await digestOfOpen(opened, size, signal), executable: (mode & 0o100) !== 0 };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw diskFault('read', file, error);
  }
}

interface Walked {
  dir: string;
  /** Names of one directory that are looked at: with one more there are too many anyway. */
  most: number;
}

async function* walk({ dir, most }: Walked, below: string): AsyncGenerator<{ name: string; stats: Stats }> {
  const names = await namesIn(join(dir, below), most + 1).catch((error: unknown) => {
    throw diskFault('read', join(dir, below), error);
  });
  for (const each of names.toSorted()) {
    const name = join(below, each);
    const stats = await lstat(join(dir, name));
    yield { name, stats };
    if (stats.isDirectory()) yield* walk({ dir, most }, name);
  }
}

async function namesIn(dir: string, most: number): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(dir)) {
    names.push(name);
    if (names.length >= most) break;
  }
  return names;
}

function headerOf(stats: Stats): { type: string; mode: number; size: number } {
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
