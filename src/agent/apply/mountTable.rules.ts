import { isWithin } from '../release/volumes.rules.ts';

/** A mount: the directory `root` of a filesystem is at `path`. */
export interface Mount {
  /** Major and minor number of the filesystem. */
  readonly device: string;
  readonly root: string;
  readonly path: string;
}

/** Parses `/proc/self/mountinfo`. */
export function parseMounts(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [, , device, root, path] = line.split(' ');
    return device === undefined || root === undefined || path === undefined
      ? []
      : { device, root: unescape(root), path: unescape(path) };
  });
}

/** The kernel writes spaces, tabs, line ends and backslashes as octal numbers. */
function unescape(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
}

/** The other paths of a file or directory: every other mount of its filesystem that includes it. */
export function otherPathsOf(path: string, mounts: readonly Mount[]): string[] {
  const above = mounts.filter((each) => isWithin(path, each.path));
  const mount = above.toSorted((one, other) => one.path.length - other.path.length).at(-1);
  if (mount === undefined) return [];
  const inside = joined(mount.root, path.slice(mount.path === '/' ? 0 : mount.path.length));
  const others = mounts.filter(({ device, root }) => device === mount.device && isWithin(inside, root));
  const paths = others.map(({ root, path: at }) => joined(at, inside.slice(root === '/' ? 0 : root.length)));
  return [...new Set(paths)].filter((each) => each !== path);
}

function joined(directory: string, rest: string): string {
  const path = `${directory}/${rest}`.replace(/\/+/g, '/');
  return path === '/' ? path : path.replace(/\/$/, '');
}
