import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stats } from 'node:fs';
import { diskFault } from '../../adapters/files.ts';
import type { Settings } from '../../config/settings.ts';
import { judgeEntry, placesOf, type Taken } from '../../rules/entry.ts';
import { unsafe } from '../../rules/header.ts';

/** Judges the files of a directory as those of an archive made of it. Throws `BUNDLE_UNSAFE`. */
export async function judgeDirectory(dir: string, limits: Settings['limits']): Promise<void> {
  const taken = new Map<string, Taken extends ReadonlyMap<string, infer Place> ? Place : never>();
  let [entries, bytes] = [0, 0];
  for await (const { name, stats } of walk(dir, '')) {
    const entry = judgeEntry({ name, ...headerOf(stats) }, taken);
    if (typeof entry === 'string') throw unsafe(entry);
    for (const [place, occupant] of placesOf(entry)) taken.set(place, occupant);
    [entries, bytes] = [entries + 1, bytes + entry.size];
    if (entries > limits.bundle_entries) throw unsafe(`more than ${limits.bundle_entries} files and directories`);
    if (bytes > limits.unpacked_bytes) throw unsafe(`more than ${limits.unpacked_bytes} bytes`);
  }
}

async function* walk(dir: string, below: string): AsyncGenerator<{ name: string; stats: Stats }> {
  const names = await readdir(join(dir, below)).catch((error: unknown) => {
    throw diskFault('read', join(dir, below), error);
  });
  for (const each of names.toSorted()) {
    const name = join(below, each);
    const stats = await lstat(join(dir, name));
    yield { name, stats };
    if (stats.isDirectory()) yield* walk(dir, name);
  }
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
