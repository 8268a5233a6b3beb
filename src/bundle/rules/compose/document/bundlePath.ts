/** A relative path without `.`, `..` and empty parts ('' is the root itself); null when it leaves the root. */
export function normalizeBundlePath(path: string): string | null {
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..' && kept.pop() === undefined) return null;
    if (part !== '' && part !== '.' && part !== '..') kept.push(part);
  }
  return kept.join('/');
}

/** A path and all directories above it. */
export function pathAndAncestors(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** All directories above these paths. */
export function directoriesOf(paths: Iterable<string>): Set<string> {
  const directories = new Set<string>();
  for (const path of paths) for (const above of pathAndAncestors(path).slice(0, -1)) directories.add(above);
  return directories;
}
