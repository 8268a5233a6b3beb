import type { Sha } from '../../../../machines/words.ts';
import { pathsAbove } from '../compose/paths.ts';
import { validate } from './inventoryValidator.ts';

/** The files and directories of a bundle, as its archive has them. */
export interface Contents {
  files: FileFacts[];
  /** Paths, each before what lies in it. */
  directories: string[];
}

/** One file of a bundle. */
export interface FileFacts {
  /** Relative to the bundle's root. */
  path: string;
  /** Bytes. */
  size: number;
  /** Lower-case hex. */
  sha256: string;
  /** Whether it is 0755; else it is 0644. */
  executable: boolean;
}

/** What a release knows of its own files, in `.deployd.files.json`: enough to see that one is lost or damaged. */
export interface Inventory extends Contents {
  schema: 1;
  sha: Sha;
  /** Paths that some service reads or mounts. */
  reached: string[];
  /** Those of them that some container may write to. */
  writable: string[];
  /** sha256 of the override. */
  override: string;
  /** How often a path was repaired: what mounts it must be made anew each time, to see it. */
  repairs: { path: string; count: number }[];
}

/** The inventory of a release in a text, null when it holds none. */
export function parseInventory(text: string, sha: Sha): Inventory | null {
  try {
    const value: unknown = JSON.parse(text);
    if (!validate(value)) return null;
    const inventory = value as Inventory;
    return inventory.sha === sha && everyPath(inventory).every(isPlain) ? inventory : null;
  } catch {
    return null;
  }
}

/** Whether a container may write to a path, or to a directory that it lies in. */
export function isWritable(path: string, { writable }: Pick<Inventory, 'writable'>): boolean {
  return pathsAbove(path).some((above) => writable.includes(above));
}

/** Whether a release cannot be brought up as it was judged without this file or directory. */
export function isNeeded(path: string, { reached }: Pick<Inventory, 'reached'>, compose: readonly string[]): boolean {
  if (compose.includes(path)) return true;
  return reached.some((source) => source === path || path.startsWith(`${source}/`) || source.startsWith(`${path}/`));
}

/** How often what lies at or below a path was repaired. */
export function repairsBelow(path: string, repairs: Inventory['repairs']): number {
  const below = repairs.filter((repair) => repair.path === path || repair.path.startsWith(`${path}/`));
  return below.reduce((sum, { count }) => sum + count, 0);
}

/** The counts after these paths were repaired once more. */
export function repairedAgain(repairs: Inventory['repairs'], paths: readonly string[]): Inventory['repairs'] {
  const counts = new Map(repairs.map(({ path, count }) => [path, count]));
  for (const path of paths) counts.set(path, (counts.get(path) ?? 0) + 1);
  return [...counts].map(([path, count]) => ({ path, count }));
}

/** The sha256 of each file that reaches a service, by path. */
export function digestsReached({ files }: Contents, sources: ReadonlySet<string>): Map<string, string> {
  const reached = files.filter(({ path }) => pathsAbove(path).some((above) => sources.has(above)));
  return new Map(reached.map(({ path, sha256 }) => [path, sha256]));
}

/** Every path of a bundle. */
export function pathsOf({ files, directories }: Contents): Set<string> {
  return new Set([...directories, ...files.map(({ path }) => path)]);
}

function everyPath({ files, directories, repairs }: Inventory): string[] {
  return [...files, ...repairs].map(({ path }) => path).concat(directories);
}

/** No path of a damaged list leads out of the release, or to a file of the agent's own. */
function isPlain(path: string): boolean {
  const parts = path.split('/');
  return (
    !parts.some((part) => part === '' || part === '.' || part === '..') && !/^\.(deployd|env$)/.test(parts[0] ?? '')
  );
}
