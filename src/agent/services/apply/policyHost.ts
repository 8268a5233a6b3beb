import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hostMountSources } from '../../../bundle/rules/compose/document/hostMounts.ts';
import type { ComposeNode } from '../../../bundle/rules/compose/document/composeNode.ts';
import { normalizeHostPath, type HostPaths } from '../../../bundle/rules/compose/policy/hostPaths.ts';
import { defaultEngineSockets, type PolicyHost } from '../../../bundle/rules/compose/policy/policyHost.ts';
import type { Containers } from '../../adapters/engine/containers.ts';
import type { Settings } from '../../config/settings.ts';
import { containerdRoots } from './containerdRoots.ts';

/** Where the agent and container engines keep what is theirs, wherever their configuration puts more. */
const protectedDirectories = [
  ...['/etc/deployd', '/usr/share/deployd', '/usr/bin/deployd', '/opt/mesh/etc'],
  ...['/etc/docker', '/etc/containerd', '/run/docker', '/run/containerd', '/run/containers'],
  ...['/var/lib/docker', '/var/lib/containerd', '/var/lib/containers'],
];

/** The host as the policy judges it: where the links of the mounted paths lead, and what no permit reaches. */
export async function policyHostOf(
  { settings, containers }: { settings: Settings; containers: Containers },
  files: readonly { root: ComposeNode }[],
): Promise<PolicyHost> {
  const { policy, container_host } = settings;
  const engineSockets = await withTargets([...defaultEngineSockets, new URL(container_host).pathname]);
  const isAsked = policy.deny.includes('engine_socket') || (policy.permit.binds ?? []).length > 0;
  const sources = isAsked ? hostMountSources(files).map(normalizeHostPath) : [];
  const paths = sources.length === 0 ? emptyPaths : await hostPathsOf(sources, { settings, containers, engineSockets });
  return { policy, engineSockets, paths };
}

const emptyPaths: HostPaths = { resolved: new Map(), protectedPaths: [], writtenNow: [] };

interface HostParts {
  settings: Settings;
  containers: Containers;
  engineSockets: readonly string[];
}

async function hostPathsOf(sources: readonly string[], host: HostParts): Promise<HostPaths> {
  const { settings, containers, engineSockets } = host;
  const { rootDir } = await containers.info();
  const own = [settings.state_dir, settings.bootstrap_file, dirname(settings.mesh.identity_file)];
  const engine = [rootDir, ...(await containerdRoots(rootDir)), ...engineSockets];
  return {
    resolved: new Map(await Promise.all(sources.map(async (path) => [path, await targetOf(path)] as const))),
    protectedPaths: await withTargets([...protectedDirectories, ...own, ...engine]),
    writtenNow: await withTargets(await writableBinds(containers)),
  };
}

/** Host paths that a container of the project may write to now. */
async function writableBinds(containers: Containers): Promise<string[]> {
  const created = await containers.inspectProject();
  const mounts = created.containers.flatMap(({ Mounts }) => Mounts ?? []);
  return mounts.flatMap(({ Type, RW, Source }) => (Type === 'bind' && RW ? [Source] : []));
}

/** These paths, and where they lead. */
async function withTargets(paths: readonly string[]): Promise<string[]> {
  const targets = await Promise.all(paths.map(async (path) => (await targetOf(path)) ?? path));
  return [...new Set([...paths, ...targets])];
}

/** Where a path leads; null for one that is missing or cannot be followed. */
function targetOf(path: string): Promise<string | null> {
  return realpath(path).catch(() => null);
}
