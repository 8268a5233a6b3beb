import { defaultPolicy, type HostPolicy, type PermitKey, type Permits } from '../../api/hostPolicy.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { pathAndAncestors } from '../archive/archiveEntries.rules.ts';

/** The known facts about the host's paths that a bundle mounts. */
export interface HostPaths {
  /** Where each path leads, all links resolved; null for one that is missing or that the agent cannot follow. */
  readonly resolved: ReadonlyMap<string, string | null>;
  /** Where the links are that lead there, by path; absent for a path without links. */
  readonly links?: ReadonlyMap<string, readonly string[]>;
  /** Filesystems below a path that a read-only mount of it leaves writable, by path. */
  readonly openBelow?: ReadonlyMap<string, readonly string[]>;
  /** Paths that no bundle may reach: the agent's own, and the container engine's. Links are resolved. */
  readonly protectedPaths: readonly string[];
  /** Host paths, links resolved, that containers of the engine mount now. */
  readonly mountedNow: readonly HostMount[];
}

/** A mounted host path. */
export interface HostMount {
  readonly path: string;
  readonly isWritable: boolean;
  /** The parent that is mounted, read-only, and leaves this path writable. */
  readonly openedBy?: string;
  /** Name of the container that mounts it, if that is not of the project. */
  readonly container?: string;
}

/** The orchestrator of a bundle's services: compose on one host, or Docker Swarm on several. */
export type OrchestratorName = 'compose' | 'swarm';

/** The host for which a bundle is validated. */
export interface PolicyHost {
  /** By default compose. */
  readonly orchestrator?: OrchestratorName;
  /** The compose that it has; null or absent when nobody looked. */
  readonly composeVersion?: readonly [major: number, minor: number] | null;
  readonly policy: HostPolicy;
  /** True if bundles must be signed, so that no secret may decide what runs. */
  readonly requiresSignatures?: boolean;
  /** Paths of the engine's sockets: whoever may write to one is root on the host. */
  readonly engineSockets: readonly string[];
  /** Null if the bundle is validated elsewhere. */
  readonly paths: HostPaths | null;
}

/** Names on the engine outside the project. */
export interface NamesOutside {
  readonly containers: ReadonlySet<string>;
  readonly networks: ReadonlySet<string>;
  readonly volumes: ReadonlySet<string>;
}

/** The facts of an engine for the policy. */
export interface EnginePolicyFacts {
  /** Names of the containers, networks and volumes that do not belong to the project. */
  readonly outside: NamesOutside;
  /** Whether it can mount a part of a volume; older ones mount the whole volume instead. */
  readonly mountsSubpaths: boolean;
  /** The version of Docker's API that it speaks. */
  readonly engineApi?: readonly [major: number, minor: number];
}

const socketNames = ['docker.sock', 'podman/podman.sock', 'containerd/containerd.sock', 'crio/crio.sock'];

/** Where engines have their sockets by default. */
export const defaultEngineSockets = ['/run', '/var/run'].flatMap((run) => socketNames.map((name) => `${run}/${name}`));

/** Any host without a policy. */
export const anyHost: PolicyHost = { policy: defaultPolicy, engineSockets: defaultEngineSockets, paths: null };

/** A privilege over the host that a value needs, and that `policy.permit` can grant. */
export interface Privilege {
  readonly permit: PermitKey;
  /** The permitted entry: a capability, a service, a path. It may be the value of a secret in a rendered model. */
  readonly entry: string;
  /** For a bind mount. */
  readonly isWritable?: boolean;
  /** The service that asks for it; absent for a network or volume. */
  readonly service?: string;
}

/** A privilege that the host permits, with the entry of `policy.permit` that grants it and no more. */
export type PermittedPrivilege = Pick<Privilege, 'permit' | 'entry' | 'service'>;

/** The line of config.yaml that permits a privilege; without an entry, which would show a secret, only its key. */
export function permitCure(permit: PermitKey, entry?: string): string {
  return entry === undefined
    ? `permit it by policy.permit.${permit} in config.yaml of the host`
    : `permit it by policy: {permit: {${permit}: [${JSON.stringify(printable(entry))}]}} in config.yaml of the host`;
}

/** The entry of `policy.permit` that grants a privilege, and no more. */
export function permitEntry({ permit, entry, isWritable }: Privilege): string {
  return permit === 'binds' && isWritable === false ? `${entry}:ro` : entry;
}

/** A permitted privilege as a text; whoever has the engine's socket, or runs privileged, is root on the host. */
export function formatPermitted({ permit, entry, service }: PermittedPrivilege): string {
  const by = service === undefined || service === entry ? '' : ` for service ${printable(service)}`;
  const root = permit === 'engine_socket' || permit === 'privileged' ? ', which is root on the host' : '';
  return `permitted here: ${permit} ${printable(entry)}${by}${root}`;
}

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
  { entry, isWritable = true }: Privilege,
  permitted: Permits['binds'],
  { asked, host: { paths, engineSockets } }: { asked: readonly Privilege[]; host: PolicyHost },
): string | null {
  const target = paths === null ? entry : (paths.resolved.get(entry) ?? null);
  if (target === null) return 'does not exist, or deployd cannot follow it: no permit reaches it';
  const places = [entry, target];
  if (places.some(isUnseen)) return 'deployd cannot see where it leads: no permit reaches it';
  const isProtected = (path: string) => places.some((place) => touches(place, path));
  if ([...engineSockets, ...(paths?.protectedPaths ?? [])].some(isProtected))
    return 'belongs to deployd or to the container engine, or holds what does: no permit reaches it';
  const [open] = isWritable ? [] : (paths?.openBelow?.get(entry) ?? []);
  const isPermitted = (mayWrite: boolean) => permitted.some((pattern) => matchesBind(pattern, target, mayWrite));
  if (!isPermitted(isWritable)) return target === entry ? '' : leadsElsewhere;
  if (open !== undefined && !isPermitted(true))
    return `${printable(open)} is mounted below it, and ${staysOpen}: permit the path without :ro, or ${olderEngineCure}`;
  const links = paths?.links?.get(entry) ?? [];
  const mount = { path: target, isWritable: isWritable || open !== undefined };
  return replaceableFault(mount, [target, ...links], mountsBeside(asked, paths));
}

const staysOpen = 'this engine leaves it writable in a read-only mount';
const olderEngineCure = 'install Docker 25 or newer with Linux 5.12 or newer';

/** The mounts that the bundle asks for, and all mounts of the engine now. */
function mountsBeside(asked: readonly Privilege[], paths: HostPaths | null) {
  const own = asked.flatMap(({ entry, isWritable = true }): HostMount[] => {
    const path = paths?.resolved.get(entry) ?? entry;
    const open = isWritable ? [] : (paths?.openBelow?.get(entry) ?? []);
    return [{ path, isWritable }, ...open.map((below) => ({ path: below, isWritable: true, openedBy: path }))];
  });
  return { own, now: paths?.mountedNow ?? [] };
}

/**
 * Why a mounted path could be replaced by a link between two starts, by whatever container; `places` are the path and
 * the links that lead there.
 */
function replaceableFault(
  { path, isWritable }: HostMount,
  places: readonly string[],
  { own, now }: { own: readonly HostMount[]; now: readonly HostMount[] },
): string | null {
  const writer = [...own, ...now].find(
    (mount) => mount.isWritable && places.some((place) => isBelow(place, mount.path)),
  );
  if (writer !== undefined) {
    const { container, openedBy } = writer;
    const who = container === undefined ? 'a container of the project' : `container ${printable(container)}`;
    const below = `is below a directory that ${who} may write to`;
    if (openedBy !== undefined)
      return `${below} through its read-only mount of ${printable(openedBy)}: leave out that mount, or ${olderEngineCure}`;
    return container === undefined ? below : `${below}: mount it there with :ro, or remove that container`;
  }
  // a container that is started again mounts what it mounted
  const holder = isWritable ? now.find((mount) => isBelow(mount.path, path)) : undefined;
  if (holder === undefined) return null;
  return holder.container === undefined
    ? 'holds a path that a container of the project mounts: apply a bundle without that mount first'
    : `holds a path that container ${printable(holder.container)} mounts: mount it with :ro, or remove that container`;
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
