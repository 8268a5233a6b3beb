/** What lies at a path of a project; `foreign` is a link that leads out of the project, `special` a device or the like. */
export type PathKind = 'file' | 'directory' | 'foreign' | 'special';

/** What lies below a directory and is none. */
export interface TreeFile {
  /** Relative to that directory. */
  path: string;
  kind: Exclude<PathKind, 'directory'>;
  /** Bytes. */
  size: number;
}

/** The files of a compose project. Paths are relative to its directory, and may begin with `../`. */
export interface ProjectTree {
  /** Null when there is nothing. */
  kindOf: (path: string) => PathKind | null;
  /** The text of a file; null for anything else, and for a file that is too long for a text. */
  textOf: (path: string) => string | null;
  /** The files below a directory, but for those that are left behind; null when there are too many. */
  filesBelow: (path: string) => TreeFile[] | null;
}

/** Names that do not come along: repositories, and `.env`, which only the agent writes. */
export const leftBehind: ReadonlySet<string> = new Set(['.git', '.hg', '.svn', '.env', '.deployd', 'node_modules']);

/** A relative path without `.` and empty parts, with all `..` at its beginning; `.` for the directory itself. */
export function normalizeRelative(path: string): string {
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else kept.push(part);
  }
  return kept.join('/') || '.';
}

/** A path that is written relative to `base`, relative to the project's directory. */
export function joinPath(base: string, path: string): string {
  return normalizeRelative(`${base}/${path}`);
}

/** The directory that a path lies in; `.` for the project's own. */
export function directoryOf(path: string): string {
  return normalizeRelative(`${path}/..`);
}
