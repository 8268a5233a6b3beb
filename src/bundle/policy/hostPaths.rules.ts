import type { Permits } from '../../api/hostPolicy.rules.ts';
import { pathAndAncestors } from '../archive/archiveEntries.rules.ts';
import type { HostMount, HostPaths, PolicyHost, Power } from './policyHost.rules.ts';

/** Directories of which the agent has its own, so that it cannot see where links in the host's lead. */
const unseenDirectories = ['/tmp', '/var/tmp', '/dev'];

/** The view of each process on itself and on others. */
const processPath = /^\/proc\/(\d+|self|thread-self)(\/|$)/;

/** Its target is not shown: the path may be the value of a secret. */
const leadsElsewhere = 'it is a link or below a link, and no permit names its target (readlink -f)';

/**
 * Why a bind mount is not permitted, null when it is. Without facts of the host only the written path is compared: this
 * is the case for a bundle that is validated elsewhere. `asked` are all bind mounts of the project: a container that
 * may write to a directory could replace what is below it by a link, which the engine follows at the next start.
 */
export function bindFault(
  { entry, isWritable = true }: Power,
  permitted: Permits['binds'],
  { asked, host: { paths, engineSockets } }: { asked: readonly Power[]; host: PolicyHost },
): string | null {
  const target = paths === null ? entry : (paths.resolved.get(entry) ?? null);
  if (target === null) return 'does not exist, or deployd cannot follow it: no permit reaches it';
  const places = [entry, target];
  if (places.some(isUnseen)) return 'deployd cannot see where it leads: no permit reaches it';
  const isProtected = (path: string) => places.some((place) => touches(place, path));
  if ([...engineSockets, ...(paths?.protectedPaths ?? [])].some(isProtected))
    return 'belongs to deployd or to the container engine, or holds what does: no permit reaches it';
  if (!permitted.some((pattern) => matchesBind(pattern, target, isWritable)))
    return target === entry ? '' : leadsElsewhere;
  return replaceableFault({ path: target, isWritable }, asked, paths);
}

/** Why a mounted path could be replaced by a link between two starts. */
function replaceableFault({ path, isWritable }: HostMount, asked: readonly Power[], paths: HostPaths | null) {
  const now = paths?.mountedNow ?? [];
  const own = asked.map((each) => ({
    path: paths?.resolved.get(each.entry) ?? each.entry,
    isWritable: each.isWritable ?? true,
  }));
  if ([...own, ...now].some((mount) => mount.isWritable && isBelow(path, mount.path)))
    return 'is below a directory that a container of the project may write to';
  // a release that is brought back mounts what it mounted
  const isHeld = isWritable && now.some((mount) => isBelow(mount.path, path));
  return isHeld ? 'holds a path that a container of the project mounts: apply a bundle without that mount first' : null;
}

/** Whether the agent cannot see what the host has there: it has its own, or each process has. */
export function isUnseen(path: string): boolean {
  return (
    processPath.test(path) || unseenDirectories.some((directory) => path === directory || isBelow(path, directory))
  );
}

/** Whether one path is the other, or is below or above it. */
export function touches(path: string, other: string): boolean {
  return path === other || isBelow(path, other) || isBelow(other, path);
}

/** Whether a path is below a directory. */
export function isBelow(path: string, directory: string): boolean {
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
  const depth = directory.split('/').length;
  return globExpression(directory).test(path.split('/').slice(0, depth).join('/'));
}

function globExpression(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('[^/]*')}$`);
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

/** The host path that a compose file or model means, in which `$$` stands for a dollar sign. */
export function hostPathOf(written: string): string {
  return normalizeHostPath(written.replaceAll('$$', '$'));
}

/** Whether a bind mount of this path gives access to one of the sockets. */
export function holdsSocket(path: string, sockets: readonly string[]): boolean {
  return sockets.some((socket) => path === '/' || pathAndAncestors(socket).includes(path));
}
