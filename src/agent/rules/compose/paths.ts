import { printable } from '../../../protocol/printable.ts';
import { power, refuse, type Facts, type Judge } from './finding.ts';
import { onText } from './shapes.ts';

/** Where a path of a compose file leads; `path` is normalised and relative to the release. */
export type Location =
  { kind: 'file' | 'directory'; path: string } | { kind: 'root' | 'outside' | 'env' | 'absent' | 'variable' };

/** Finds a path the way compose does: relative to the project directory, `~` being the agent's home. */
export function locate(written: string, { releaseFiles, directories, rendered }: Facts): Location {
  const source = rendered ? unrendered(written, rendered.dir) : written;
  if (source.includes('$')) return { kind: 'variable' };
  const path = /^[/~]/.test(source) ? null : insidePath(source);
  if (path === null) return { kind: 'outside' };
  if (path === '') return { kind: 'root' };
  if (path === '.env') return { kind: 'env' };
  if (directories.has(path)) return { kind: 'directory', path };
  return releaseFiles.has(path) ? { kind: 'file', path } : { kind: 'absent' };
}

/** What compose has made absolute as it may have been written. */
function unrendered(path: string, dir: string): string {
  return path === dir || path.startsWith(`${dir}/`) ? `.${path.slice(dir.length)}` : path;
}

/** A relative path without `.`, `..` and empty parts ('' is the root itself), null where it leaves the root. */
export function insidePath(path: string): string | null {
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..' && kept.pop() === undefined) return null;
    if (part !== '' && part !== '.' && part !== '..') kept.push(part);
  }
  return kept.join('/');
}

/** A path and every directory that it lies in. */
export function pathsAbove(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Every directory that holds one of these paths. */
export function directoriesOf(paths: Iterable<string>): Set<string> {
  return new Set([...paths].flatMap((path) => pathsAbove(path).slice(0, -1)));
}

const whyNot = {
  directory: 'is a directory',
  root: 'is the release itself, which holds the values of every secret',
  outside: 'is outside the bundle',
  env: 'is the rendered .env, which holds the values of every secret',
  absent: 'is not in the bundle',
  variable: 'is decided by a variable',
} as const;

/**
 * What a container may write to must hold nothing that is opened by its name: there it could put a link to any file of the
 * host, which the next to open it would follow. Nor may it be an env file or label file: it would say what containers get.
 */
export const writableSource: Judge = onText((source, value, place) => {
  const { opened } = place.facts;
  const location = locate(source, place.facts);
  if (!opened || !('path' in location)) return [];
  const { kind, path } = location;
  if (kind === 'file' && opened.byCompose.includes(path))
    return power(value, place, `${printable(source)} is what compose reads: mount it read-only`);
  const held = opened.all.find((each) => each.startsWith(`${path}/`));
  return held === undefined
    ? []
    : power(
        value,
        place,
        `${printable(source)} holds ${printable(held)}, which is opened by its name: mount it read-only`,
      );
});

const rewritable = 'is or holds a compose file, which a container could rewrite';

/** A file that compose reads: it must be one of the bundle, whatever flags the bundle has. */
export const bundleFile: Judge = onText((source, value, place) => {
  const { kind } = locate(source, place.facts);
  return kind === 'file' ? [] : refuse(value, place, `${printable(source)} ${whyNot[kind]}`);
});

/**
 * A directory or file that a container mounts. Outside the release it is power over the host; the release's root is
 * never mounted, nor a compose file, and neither is what the bundle lacks, which the engine would make as root's.
 */
export const bindSource: Judge = onText((source, value, place) => {
  const location = locate(source, place.facts);
  const { kind } = location;
  if (kind === 'file' || kind === 'directory') {
    const holds = (file: string) => file === location.path || file.startsWith(`${location.path}/`);
    return place.facts.composeFiles?.some(holds) ? refuse(value, place, `${printable(source)} ${rewritable}`) : [];
  }
  const tell = kind === 'outside' || kind === 'variable' ? power : refuse;
  return tell(value, place, `${printable(source)} ${whyNot[kind]}`);
});
