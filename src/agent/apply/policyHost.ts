import { createHash } from 'node:crypto';
import { readlink, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { failedFault, Fault } from '../../../machines/fault.ts';
import { formatFault } from '../../../machines/refusals.ts';
import type { Sha } from '../../../machines/types.ts';
import type { Violation } from '../../api/agentSchemas.ts';
import { maxViolationCharacters, policyBounds } from '../../api/hostPolicy.rules.ts';
import { hostMountSources } from '../../bundle/compose/mounts.rules.ts';
import type { MergedFiles } from '../../bundle/compose/services.rules.ts';
import {
  defaultEngineSockets,
  type HostMount,
  hostPathOf,
  type HostPaths,
  isBelow,
  type PolicyHost,
} from '../../bundle/policy/policyHost.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Compose } from '../engine/compose.ts';
import type { Containers } from '../engine/containers.ts';
import { catchFault } from '../journal/journal.ts';
import { incompleteFault, type Releases } from '../release/releases.ts';
import { isWithin } from '../release/volumes.rules.ts';
import { readTextIfExists } from '../state/fileSystem.ts';
import type { State } from '../state/state.rules.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { VerifyAgainDependencies } from './verifyImages.ts';

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
  const resolved = new Map(await Promise.all(sources.map(async (path) => [path, await targetOf(path)] as const)));
  const { readOnlyIsRecursive } = await host.containers.info();
  const table = await readMounts();
  const open = [...resolved].map(
    ([path, target]) => [path, readOnlyIsRecursive ? [] : below(target ?? path, table)] as const,
  );
  return {
    resolved,
    links: new Map(await Promise.all(sources.map(async (path) => [path, await linksOf(path)] as const))),
    openBelow: new Map(open.filter(([, mounts]) => mounts.length > 0)),
    protectedPaths: await protectedPathsOf(host),
    mountedNow: await mountsOf(host, {
      asked: [...resolved.values()].flatMap((path) => path ?? []),
      readOnlyIsRecursive,
    }),
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

/** The paths of mounts below a directory. */
function below(path: string, table: readonly Mount[]): string[] {
  return [...new Set(table.map((each) => each.path))].filter((each) => isBelow(each, path));
}

/**
 * The host paths that all containers of the engine mount, directly or by volumes, and the host paths of permitted
 * volumes. Each is listed under every path at which the host has it. A filesystem below a read-only mount is listed
 * too, if the engine leaves it writable and an asked path is below it.
 */
async function mountsOf(
  { settings, containers }: HostParts,
  { asked, readOnlyIsRecursive }: { asked: readonly string[]; readOnlyIsRecursive: boolean },
): Promise<HostMount[]> {
  const users = await containers.resourceUsers();
  const permitted = settings.policy.permit.volumes ?? [];
  const hasVolumes = permitted.length > 0 || users.some(({ volumes }) => volumes.length > 0);
  const volumes = hasVolumes ? await containers.volumes() : [];
  const devices = new Map(volumes.map(({ name, options }) => [name, options['device'] ?? '']));
  const project = `deployd-${settings.env}`;
  const mounted = [
    ...users.flatMap(({ id, name, project: owner, mounted: own }) =>
      own.map(({ path, volume, target, isWritable }) => {
        const source = volume === null ? path : (devices.get(volume) ?? '');
        const isOpen = async () => !readOnlyIsRecursive || (await containers.openMounts(id)).includes(target);
        return { path: source, isWritable, isOpen, ...(owner !== project && { container: name }) };
      }),
    ),
    ...permitted.map((name) => ({ path: devices.get(name) ?? '', isWritable: true, isOpen: async () => false })),
  ];
  const table = await readMounts();
  const ofHost = mounted.filter(({ path }) => path.startsWith('/'));
  const resolved = ofHost.map(async ({ isOpen, ...mount }): Promise<HostMount[]> => {
    const path = (await targetOf(mount.path)) ?? mount.path;
    const inner = mount.isWritable ? [] : below(path, table).filter((each) => asked.some((one) => isBelow(one, each)));
    const open = inner.length > 0 && (await isOpen()) ? inner : [];
    return [{ ...mount, path }, ...open.map((each) => ({ ...mount, path: each, isWritable: true, openedBy: path }))];
  });
  return (await Promise.all(resolved))
    .flat()
    .flatMap((mount) => [mount, ...otherPathsOf(mount.path, table).map((path) => ({ ...mount, path }))]);
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

/** Dependencies of checking a release that is on this host. */
export interface JudgeDependencies {
  readonly settings: Settings;
  readonly containers: Containers;
  readonly releases: Releases;
  readonly state: StateStore;
}

/** Dependencies of checking a release before it is started. */
export type StartDependencies = JudgeDependencies & VerifyAgainDependencies;

/** Identifies a release, and the policy that it is checked by. */
export function policyDigest({ policy }: Pick<Settings, 'policy'>, sha: Sha): string {
  return createHash('sha256').update(JSON.stringify({ policy, sha })).digest('hex');
}

/**
 * The parts of the applied release that the policy no longer allows. They are looked for when the policy or the release
 * has changed, and on every tick while there are any. If the release cannot be read, the last result remains; a release of
 * a swarm that is not on this host is a fault.
 */
export async function policyViolations(deps: JudgeDependencies, signal: AbortSignal): Promise<readonly Violation[]> {
  const { settings, state } = deps;
  const { applied_sha, judged } = state.state;
  if (applied_sha === null || state.isUnknown) return [];
  const digest = policyDigest(settings, applied_sha);
  if (isClean(judged, digest)) return [];
  const violations = await violationsIn(deps, applied_sha, signal);
  if (violations === null && settings.orchestrator === 'swarm' && !(await deps.releases.exists(applied_sha)))
    throw failedFault('RELEASE_INCOMPLETE', 'another manager applied it, and its files are not on this host yet');
  if (violations === null) return judged?.violations ?? [];
  await record(deps, { digest, violations });
  return violations;
}

/**
 * Throws before a start of a release that this host no longer permits, or whose signers it no longer trusts. Paths are
 * resolved again each time, because a permitted one may have become a link.
 */
export async function expectPermitted(deps: StartDependencies, sha: Sha, signal: AbortSignal): Promise<void> {
  await expectTrusted(deps, sha, signal);
  const { settings, state } = deps;
  const digest = policyDigest(settings, sha);
  if (!permitsPaths(settings) && isClean(state.state.judged, digest)) return;
  const violations = await violationsIn(deps, sha, signal);
  if (violations === null)
    throw incompleteFault(`release ${sha} has no readable manifest and inventory: the policy cannot be checked`);
  if (sha === state.state.applied_sha) await record(deps, { digest, violations });
  if (violations.length > 0) throw withdrawnFault(sha, violations);
}

/**
 * Compares the signers that were verified when the release was applied with the signers that are trusted now. Images
 * that are not signed by enough of them are verified again.
 */
async function expectTrusted(deps: StartDependencies, sha: Sha, signal: AbortSignal): Promise<void> {
  const { releases, settings, state } = deps;
  const { trust } = settings;
  const record = trust.bundles === null && trust.images === null ? null : await releases.readRecord(sha);
  if (record === null) return;
  // Another manager of a swarm may have verified the signatures since this one wrote its record.
  const { applied_sha, applied_signers: signers, applied_root: trust_root, applied_images } = state.state;
  const isApplied = sha === applied_sha;
  const release = {
    ...record,
    ...(isApplied && signers && { signers, trust_root: trust_root ?? null }),
    ...(isApplied && applied_images && { verified_images: applied_images }),
  };
  const { readTrustNow } = await import('../../signatures/signatureFiles.ts');
  const { describeUntrusted, untrustedNow } = await import('../../signatures/judgement.rules.ts');
  const now = readTrustNow(trust);
  let untrusted = untrustedNow(release, now);
  if (untrusted.some(({ service }) => service !== null)) {
    const { verifyAppliedImages, verifyImagesAgain } = await import('./verifyImages.ts');
    const verified_images = isApplied
      ? await verifyAppliedImages(deps, release, { isStart: true }, signal)
      : await verifyImagesAgain(deps, release, 2 * settings.http_timeout_s, signal);
    untrusted = untrustedNow({ ...release, verified_images }, now);
  }
  if (untrusted.length > 0)
    throw withdrawnFault(
      sha,
      untrusted
        .map(describeUntrusted)
        .map((detail) => ({ by: 'trust', service: null, code: 'SIGNATURE_REFUSED', detail })),
    );
}

function withdrawnFault(sha: Sha, violations: readonly Violation[]): Fault {
  const [{ code = 'PRIVILEGED_REFUSED' } = {}] = violations;
  const details = violations.map(({ detail }) => detail).join('; ');
  return failedFault(code, `release ${sha} is no longer permitted, and is not started: ${details}`);
}

/** True if bundles may mount paths of the host, which each start must resolve again. */
export function permitsPaths({ policy }: Pick<Settings, 'policy'>): boolean {
  return (policy.permit.binds ?? []).length > 0;
}

function isClean(judged: State['judged'], digest: string): boolean {
  return judged?.digest === digest && judged.violations.length === 0;
}

async function record({ state }: JudgeDependencies, judged: NonNullable<State['judged']>): Promise<void> {
  if (JSON.stringify(state.state.judged) !== JSON.stringify(judged)) await state.update({ judged });
}

/** Null if the release cannot be read. */
async function violationsIn(deps: JudgeDependencies, sha: Sha, signal: AbortSignal): Promise<Violation[] | null> {
  const { releases, settings } = deps;
  const { bundleFactsOf, readManifest } = await import('../../bundle/readBundle.ts');
  const { judgePolicy } = await import('../../bundle/plan/plan.rules.ts');
  const dir = releases.pathOf(sha);
  const [parsed, contents] = [await readManifest(dir, settings.env), await releases.readInventory(sha)];
  if ('refusal' in parsed || contents === null) return null;
  const facts = { ...(await bundleFactsOf({ sha, dir, contents, ...parsed }, signal)), isApplied: true };
  const { unpermitted } = judgePolicy(
    facts,
    await policyHostOf({ settings, containers: deps.containers }, facts.project, signal),
  );
  return unpermitted.slice(0, policyBounds.entries).map(({ code, service, permit, fault }) => ({
    by: 'policy',
    service,
    detail: formatFault(fault).slice(0, maxViolationCharacters),
    code,
    ...(permit !== null && { permit: permit.slice(0, maxViolationCharacters) }),
  }));
}
