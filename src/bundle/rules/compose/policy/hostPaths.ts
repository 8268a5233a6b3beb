import type { Permits } from '../../../../protocol/hostPolicy.ts';
import { pathAndAncestors } from '../document/bundlePath.ts';
import { printable } from '../../../../protocol/printable.ts';
import type { Power } from './power.ts';

/** What is known of the host's paths that a bundle wants to mount. */
export interface HostPaths {
  /** Where each path leads, all links resolved; null for one that is missing or that the agent cannot follow. */
  readonly resolved: ReadonlyMap<string, string | null>;
  /** Paths that no bundle may reach: the agent's own, and the container engine's. Links are resolved. */
  readonly protectedPaths: readonly string[];
  /** Host paths, links resolved, that containers of the project may write to now. */
  readonly writtenNow: readonly string[];
}

/** A bind mount of the host that a bundle asks for. */
export type BindPower = Power & { readonly permit: 'binds' };

/** Directories of which the agent has its own, so that it cannot see where links in the host's lead. */
const unseenDirectories = ['/tmp', '/var/tmp', '/dev'];

/** What each process sees of itself and of others. */
const processPath = /^\/proc\/(\d+|self|thread-self)(\/|$)/;

/**
 * Why a bind mount is not permitted, null when it is. Without facts of the host only the written path is compared: so it
 * is for a bundle that is judged elsewhere. `asked` are all bind mounts of the project: a container that may write to a
 * directory could replace what is below it by a link, which the engine follows at the next start.
 */
export function bindFault(
  { entry, isWritable = true }: Power,
  permitted: Permits['binds'],
  { asked, paths }: { asked: readonly Power[]; paths: HostPaths | null },
): string | null {
  const target = paths === null ? entry : (paths.resolved.get(entry) ?? null);
  if (target === null) return 'does not exist, or deployd cannot follow it: no permit reaches it';
  const places = [entry, target];
  if (places.some(isUnseen)) return 'deployd cannot see where it leads: no permit reaches it';
  if (paths?.protectedPaths.some((path) => places.some((place) => touches(place, path))))
    return 'belongs to deployd or to the container engine, or holds what does: no permit reaches it';
  if (!permitted.some((pattern) => matchesBind(pattern, target, isWritable)))
    return target === entry ? '' : `it leads to ${printable(target)}, which no permit names`;
  const written = [
    ...asked.filter((each) => each.isWritable).map((each) => resolve(each.entry, paths)),
    ...writtenNow(paths),
  ];
  const parent = written.find((directory) => isBelow(target, directory));
  return parent === undefined ? null : 'is below a directory that a container of the project may write to';
}

function resolve(path: string, paths: HostPaths | null): string {
  return paths?.resolved.get(path) ?? path;
}

function writtenNow(paths: HostPaths | null): readonly string[] {
  return paths?.writtenNow ?? [];
}

function isUnseen(path: string): boolean {
  return (
    processPath.test(path) || unseenDirectories.some((directory) => path === directory || isBelow(path, directory))
  );
}

/** Whether one path is the other, or is below or above it. */
function touches(path: string, other: string): boolean {
  return path === other || isBelow(path, other) || isBelow(other, path);
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory === '/' ? '/' : `${directory}/`) && path !== directory;
}

/** Whether a permitted path, which may end with `:ro`, covers a path. */
function matchesBind(pattern: string, path: string, isWritable: boolean): boolean {
  const isReadOnly = pattern.endsWith(':ro');
  const glob = isReadOnly ? pattern.slice(0, -':ro'.length) : pattern;
  return !(isReadOnly && isWritable) && matchesGlob(glob, path);
}

/** Whether a pattern matches a path: `*` is any text in one name, `/**` at the end all below and the directory itself. */
export function matchesGlob(pattern: string, path: string): boolean {
  if (!pattern.endsWith('/**')) return globExpression(pattern).test(path);
  const directory = pattern.slice(0, -'/**'.length);
  if (directory === '') return true;
  const depth = directory.split('/').length;
  return globExpression(directory).test(path.split('/').slice(0, depth).join('/'));
}

function globExpression(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join('[^/]*')}$`, 's');
}

/** An absolute path as the engine mounts it, without `.`, `..`, doubled and trailing slashes. */
export function normalizeHostPath(path: string): string {
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') kept.pop();
    else if (part !== '' && part !== '.') kept.push(part);
  }
  return `/${kept.join('/')}`;
}

/** Whether a bind mount of this path gives access to one of the sockets. */
export function holdsSocket(path: string, sockets: readonly string[]): boolean {
  return sockets.some((socket) => path === '/' || pathAndAncestors(socket).includes(path));
}
