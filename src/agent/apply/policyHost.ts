import { readlink, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Fault } from '../../../machines/fault.ts';
import { hostMountSources } from '../../bundle/compose/mounts.rules.ts';
import type { MergedFiles } from '../../bundle/compose/services.rules.ts';
import {
  defaultEngineSockets,
  type HostMount,
  hostPathOf,
  type HostPaths,
  type PolicyHost,
} from '../../bundle/policy/policyHost.rules.ts';
import type { Settings } from '../config/settings.ts';
import type { Compose } from '../engine/compose.ts';
import type { Containers } from '../engine/containers.ts';
import { catchFault } from '../journal/journal.ts';
import { isWithin } from '../release/volumes.rules.ts';
import { readTextIfExists } from '../state/fileSystem.ts';

/**
 * The default data directories of the agent and of container engines, which count even if their configuration adds
 * others.
 */
const protectedDirectories = [
  ...['/etc/deployd', '/etc/deployd-envs', '/var/lib/deployd', '/var/lib/deployd-envs'],
  ...['/usr/share/deployd', '/usr/bin/deployd', '/opt/mesh/etc'],
  ...['/etc/docker', '/etc/containerd', '/run/docker', '/run/containerd', '/run/containers'],
  ...['/var/lib/docker', '/var/lib/containerd', '/var/lib/containers'],
];

/**
 * The facts of the host that the policy needs: where the links of the mounted paths lead, and the paths that no permit
 * can allow. They are only collected if there is a policy.
 */
export async function policyHostOf(
  { settings, containers, compose }: { settings: Settings; containers: Containers; compose?: Pick<Compose, 'version'> },
  merged: MergedFiles,
  signal: AbortSignal,
): Promise<PolicyHost> {
  const { policy, orchestrator, trust } = settings;
  const engineSockets = await engineSocketsOf(settings);
  const isAsked = policy.deny.includes('engine_socket') || (policy.permit.binds ?? []).length > 0;
  const asksVersion = compose !== undefined && orchestrator === 'compose';
  const version = asksVersion ? await catchFault(() => compose.version(signal)) : null;
  const composeVersion = version instanceof Fault ? null : version;
  const requiresSignatures = trust.bundles !== null;
  const host = { orchestrator, policy, requiresSignatures, engineSockets, composeVersion };
  if (!isAsked) return { ...host, paths: null };
  const sources = hostMountSources(merged).map(hostPathOf);
  return { ...host, paths: await hostPathsOf(sources, { settings, containers, engineSockets }) };
}

/** The sockets of engines on this host, and where their links lead. */
export function engineSocketsOf({ container_host }: Pick<Settings, 'container_host'>): Promise<string[]> {
  return withTargets([...defaultEngineSockets, new URL(container_host).pathname]);
}

interface HostParts {
  settings: Settings;
  containers: Containers;
  engineSockets: readonly string[];
}

async function hostPathsOf(sources: readonly string[], host: HostParts): Promise<HostPaths> {
  if (sources.length === 0) return { resolved: new Map(), protectedPaths: [], mountedNow: [] };
  return {
    resolved: new Map(await Promise.all(sources.map(async (path) => [path, await targetOf(path)] as const))),
    links: new Map(await Promise.all(sources.map(async (path) => [path, await linksOf(path)] as const))),
    protectedPaths: await protectedPathsOf(host),
    mountedNow: await mountsOf(host),
  };
}

/** The paths of the agent and of the engine, the targets of their links, and other mounts of the same directories. */
export async function protectedPathsOf({ settings, containers, engineSockets }: HostParts): Promise<string[]> {
  const { rootDir } = await containers.info();
  const { config_file, state_dir, bootstrap_file, mesh, compose, tenancy_ca, secretstore_ca } = settings;
  const files = [config_file, bootstrap_file, compose, tenancy_ca, secretstore_ca].filter(
    (path) => path?.startsWith('/') === true,
  );
  const own = [state_dir, dirname(mesh.identity_file), ...files.filter((path) => path !== null)];
  const engine = [rootDir, ...(await containerdRoots(rootDir)), ...engineSockets];
  const paths = await withTargets([...protectedDirectories, ...own, ...engine]);
  const mounts = await readMounts();
  return [...new Set([...paths, ...paths.flatMap((path) => otherPathsOf(path, mounts))])];
}

/**
 * The host paths that all containers of the engine mount, directly or by volumes, and the host paths of permitted
 * volumes. Each is listed under every path at which the host has it.
 */
async function mountsOf({ settings, containers }: HostParts): Promise<HostMount[]> {
  const users = await containers.resourceUsers();
  const permitted = settings.policy.permit.volumes ?? [];
  const hasVolumes = permitted.length > 0 || users.some(({ volumes }) => volumes.length > 0);
  const volumes = hasVolumes ? await containers.volumes() : [];
  const devices = new Map(volumes.map(({ name, options }) => [name, options['device'] ?? '']));
  const project = `deployd-${settings.env}`;
  const mounted = [
    ...users.flatMap(({ name, project: owner, mounted: own }) =>
      own.map(({ path, volume, isWritable }) => {
        const source = volume === null ? path : (devices.get(volume) ?? '');
        return { path: source, isWritable, ...(owner !== project && { container: name }) };
      }),
    ),
    ...permitted.map((name) => ({ path: devices.get(name) ?? '', isWritable: true })),
  ];
  const table = await readMounts();
  const ofHost = mounted.filter(({ path }) => path.startsWith('/'));
  const resolved = ofHost.map(async (mount) => ({ ...mount, path: (await targetOf(mount.path)) ?? mount.path }));
  return (await Promise.all(resolved)).flatMap((mount) => [
    mount,
    ...otherPathsOf(mount.path, table).map((path) => ({ ...mount, path })),
  ]);
}

/** Links that the kernel follows in one path. */
const maxLinks = 40;

/** Where the links are that a path leads through: their real directories, with their names. */
async function linksOf(path: string): Promise<string[]> {
  const links: string[] = [];
  let [real, rest] = ['/', path.split('/')];
  while (rest.length > 0 && links.length <= maxLinks) {
    const [name = '', ...others] = rest;
    const place = resolve(real, name);
    const target = await readlink(place).catch(() => null);
    if (target !== null) links.push(place);
    rest = target === null ? others : [...target.split('/'), ...others];
    if (target === null) real = place;
    else if (target.startsWith('/')) real = '/';
  }
  return links;
}

/** These paths and their link targets. */
async function withTargets(paths: readonly string[]): Promise<string[]> {
  const targets = await Promise.all(paths.map(async (path) => (await targetOf(path)) ?? path));
  return [...new Set([...paths, ...targets])];
}

/** The real path of a path; null if it is missing or cannot be resolved. */
export function targetOf(path: string): Promise<string | null> {
  return realpath(path).catch(() => null);
}

/** The mounts that the agent sees. Throws a Fault when the table cannot be read. */
async function readMounts(): Promise<Mount[]> {
  return parseMounts((await readTextIfExists('/proc/self/mountinfo')) ?? '');
}

/** A mount: the directory `root` of a filesystem is at `path`. */
interface Mount {
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

/** Directories of containerd, which a pull fills when the engine uses the containerd image store. */
export async function containerdRoots(rootDir: string): Promise<string[]> {
  const config = (await readTextIfExists('/etc/containerd/config.toml').catch(() => null)) ?? '';
  const root = /^\s*root\s*=\s*["']([^"']+)["']/m.exec(config)?.[1] ?? '/var/lib/containerd';
  return [root, join(rootDir, 'containerd', 'daemon')];
}
