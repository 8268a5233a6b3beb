import type { Sha } from '../../../machines/types.ts';
import { pathAndAncestors } from './archiveEntries.rules.ts';
import { type Inventory, validate } from './inventoryValidator.ts';
import type { LeftOut } from './leftOut.rules.ts';

/** The files and directories of a bundle, in the order of its archive. */
export interface BundleContents {
  files: BundleFile[];
  /** Paths; a directory comes before its content. */
  directories: string[];
  /** The paths that were left out of a directory; absent for an archive. */
  leftOut?: LeftOut;
}

/** A regular file of a bundle; archives contain nothing else but directories. */
export interface BundleFile {
  /** Relative to the bundle's root. */
  path: string;
  /** Bytes. */
  size: number;
  /** Lower-case hex. */
  sha256: string;
  /** True for mode 0755, false for 0644. */
  executable: boolean;
}

export type { Inventory };

/** Parses the inventory of release `sha`; null when the text is not a valid one. */
export function parseInventory(text: string, sha: Sha): Inventory | null {
  try {
    const value: unknown = JSON.parse(text);
    return validate(value) && value.sha === sha && allPathsOf(value).every(isSafePath) ? value : null;
  } catch {
    return null;
  }
}

/** True when a container may write to a path or to a directory above it. */
export function isWritable(path: string, { writable }: Pick<Inventory, 'writable'>): boolean {
  return pathAndAncestors(path).some((above) => writable.includes(above));
}

/** True when a release cannot be started as it was validated without this file or directory. */
export function isRequired(path: string, { reached }: Pick<Inventory, 'reached'>, compose: readonly string[]): boolean {
  if (compose.includes(path)) return true;
  return reached.some((source) => source === path || path.startsWith(`${source}/`) || source.startsWith(`${path}/`));
}

/** How often a path and everything below it were repaired. */
export function countRepairsBelow(path: string, repairs: Inventory['repairs']): number {
  const below = repairs.filter((repair) => repair.path === path || repair.path.startsWith(`${path}/`));
  return below.reduce((sum, { count }) => sum + count, 0);
}

/** The counts after another repair of these paths. */
export function recordRepairs(repairs: Inventory['repairs'], paths: readonly string[]): Inventory['repairs'] {
  const counts = new Map(repairs.map(({ path, count }) => [path, count]));
  for (const path of paths) counts.set(path, (counts.get(path) ?? 0) + 1);
  return [...counts].map(([path, count]) => ({ path, count }));
}

/** The sha256 of each file that a service reads or mounts, by path. */
export function reachedDigests({ files }: BundleContents, sources: ReadonlySet<string>): Map<string, string> {
  const reached = files.filter(({ path }) => pathAndAncestors(path).some((above) => sources.has(above)));
  return new Map(reached.map(({ path, sha256 }) => [path, sha256]));
}

export function pathsOf({ files, directories }: BundleContents): Set<string> {
  return new Set([...directories, ...files.map(({ path }) => path)]);
}

function allPathsOf({ files, directories, repairs }: Inventory): string[] {
  return [...files, ...repairs].map(({ path }) => path).concat(directories);
}

/** False for a path that leaves the release or names a file of the agent, as a damaged list may contain. */
function isSafePath(path: string): boolean {
  const leaves = path.split('/').some((part) => part === '' || part === '.' || part === '..');
  return !leaves && !/^\.(deployd|env(\/|$))/.test(path);
}

/** Paths of the executable files of a bundle. */
export function executablesOf({ files }: BundleContents): ReadonlySet<string> {
  return new Set(files.filter(({ executable }) => executable).map(({ path }) => path));
}
