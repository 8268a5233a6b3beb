import { lstatSync, readdirSync, realpathSync, statSync, type Stats } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { maxCharacters } from './rules/compose/document/documentSize.ts';
import { leftBehind, type PathKind, type ProjectTree, type TreeFile } from './rules/import/projectTree.ts';
import { readRegularFile } from '../platform/regularFile.ts';

/** A compose project on the disk, with where its files really are. */
export interface DiskProject extends ProjectTree {
  /** The real path of a file that is one; null for anything else. */
  fileAt: (path: string) => string | null;
}

/** Files and directories that are looked at below a directory. */
const maxEntries = 10_000;
/** UTF-8 takes up to 4 bytes per character. */
const maxTextBytes = 4 * maxCharacters;

/**
 * A project's directory, with `without` (absolute) left out of it. Links are followed inside the directory only. Throws the
 * error of the system when there is no such directory.
 */
export function openDiskProject(directory: string, without: string): DiskProject {
  const root = realpathSync(directory);
  const locate = (path: string) => locateBelow(root, path);
  const kindOf = (path: string): PathKind | null => {
    const found = locate(path);
    return found === null || found === 'foreign' ? found : kindOfStats(found.stats);
  };
  const fileAt = (path: string) => {
    const found = locate(path);
    return found !== null && found !== 'foreign' && found.stats.isFile() ? found.real : null;
  };
  const textOf = (path: string) => {
    const file = fileAt(path);
    return file === null ? null : readText(file);
  };
  return { kindOf, fileAt, textOf, filesBelow: (path) => filesBelow(path, { locate, without }) };
}

type Located = { real: string; stats: Stats } | 'foreign' | null;

/** Where a path really is: below the project, or just where it says; `foreign` where a link leads elsewhere. */
function locateBelow(root: string, path: string): Located {
  const plain = resolve(root, path);
  try {
    const real = realpathSync(plain);
    const isOwn = real === plain || real === root || real.startsWith(`${root}${sep}`);
    return isOwn ? { real, stats: statSync(real) } : 'foreign';
  } catch {
    return lstatSync(plain, { throwIfNoEntry: false })?.isSymbolicLink() === true ? 'foreign' : null;
  }
}

function kindOfStats(stats: Stats): PathKind {
  if (stats.isFile()) return 'file';
  return stats.isDirectory() ? 'directory' : 'special';
}

function readText(file: string): string | null {
  try {
    return readRegularFile(file, maxTextBytes).toString('utf8');
  } catch {
    return null;
  }
}

interface Walk {
  locate: (path: string) => Located;
  without: string;
}

/** Breadth first; a directory that a link leads to is walked once in each place, and never inside itself. */
function filesBelow(path: string, { locate, without }: Walk): TreeFile[] | null {
  const files: TreeFile[] = [];
  const queue: { below: string; above: readonly string[] }[] = [{ below: '', above: [] }];
  let entries = 0;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const found = locate(join(path, next.below));
    if (found === null || found === 'foreign' || next.above.includes(found.real) || found.real === without) continue;
    for (const name of namesIn(found.real)) {
      if (leftBehind.has(name)) continue;
      if (++entries > maxEntries) return null;
      const below = join(next.below, name);
      const entry = locate(join(path, below));
      const kind = entry === null || entry === 'foreign' ? 'foreign' : kindOfStats(entry.stats);
      if (kind === 'directory') queue.push({ below, above: [...next.above, found.real] });
      else files.push({ path: below, size: typeof entry === 'object' ? (entry?.stats.size ?? 0) : 0, kind });
    }
  }
  return files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
