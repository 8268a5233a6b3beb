import type { EngineHealthcheck } from '../../bundle/plan/writtenServices.rules.ts';
import type { RecordedVolume } from './resources.rules.ts';

/**
 * The fields used from the engine's inspection of a container. The inspection also holds its environment, so it is
 * secret.
 */
export interface CreatedContainer {
  Id: string;
  Name: string;
  Image: string;
  State: { Status: string; StartedAt?: string };
  Config: { Labels: Record<string, string> | null; Healthcheck?: EngineHealthcheck | null };
  HostConfig: Partial<{
    Privileged: boolean;
    CapAdd: string[] | null;
    CapDrop: string[] | null;
    Devices: { PathOnHost: string; PathInContainer: string; CgroupPermissions: string }[] | null;
    DeviceRequests: unknown[] | null;
    DeviceCgroupRules: string[] | null;
    SecurityOpt: string[] | null;
    MaskedPaths: string[] | null;
    GroupAdd: string[] | null;
    Sysctls: Record<string, string> | null;
    Runtime: string;
    NetworkMode: string;
    PidMode: string;
    IpcMode: string;
    UTSMode: string;
    UsernsMode: string;
    CgroupnsMode: string;
    CgroupParent: string;
    Links: string[] | null;
    OomKillDisable: boolean | null;
    OomScoreAdj: number;
    Mounts: { Target: string; VolumeOptions?: { Subpath?: string } }[] | null;
  }>;
  Mounts: CreatedMount[] | null;
  NetworkSettings: { Networks: Record<string, { Links?: string[] | null; NetworkID?: string } | null> | null };
}

interface CreatedMount {
  Type: string;
  Name?: string;
  Source: string;
  Destination: string;
  Driver?: string;
  RW: boolean;
  Propagation?: string;
}

/** A network or volume of the engine. */
export interface CreatedResource {
  name: string;
  driver: string;
  options: Readonly<Record<string, string>>;
}

/** A volume of the engine; it is the project's own if it has the project's label. */
export interface CreatedVolume extends CreatedResource, Partial<Omit<RecordedVolume, 'name'>> {
  isOwn: boolean;
}

/** A network of the project. */
export interface CreatedNetwork extends CreatedResource {
  id: string;
  internal: boolean;
}

/** Everything of one compose project on the engine. */
export interface CreatedResources {
  containers: CreatedContainer[];
  volumes: CreatedVolume[];
  networks: CreatedNetwork[];
  isPodman: boolean;
}

/** The compose service of a container. */
export function serviceOf({ Config }: CreatedContainer): string {
  return Config.Labels?.['com.docker.compose.service'] ?? '';
}

/** A container's name without the engine's leading slash. */
export function containerName({ Name }: CreatedContainer): string {
  return Name.replace(/^\//, '');
}

/** Whether the engine created the volume without a name, for this container or for its predecessor. */
function isAnonymousVolume({ Type, Name }: CreatedMount, volumes: readonly CreatedVolume[]): boolean {
  if (Type !== 'volume' || !/^[0-9a-f]{64}$/.test(Name ?? '')) return false;
  const volume = volumes.find(({ name }) => name === Name);
  return volume?.driver === 'local' && Object.keys(volume.options).length === 0;
}

/** The anonymous volumes of a container and their mount targets. */
export function anonymousVolumesOf(
  { Mounts }: CreatedContainer,
  volumes: readonly CreatedVolume[],
): { name: string; target: string }[] {
  const own = (Mounts ?? []).filter((mount) => isAnonymousVolume(mount, volumes));
  return own.map(({ Name = '', Destination }) => ({ name: Name, target: Destination }));
}

/** Service and container number: of two containers with the same slot compose keeps one. */
export function replicaSlotOf(container: CreatedContainer): string {
  return `${serviceOf(container)} ${container.Config.Labels?.['com.docker.compose.container-number'] ?? ''}`;
}

/** The privileges of a container as facts (see `Allowance`); `dir` is the directory of the release. */
export function containerFactsOf(container: CreatedContainer, created: CreatedResources, dir: string): string[] {
  const { HostConfig: host } = container;
  return [
    ...(container.Mounts ?? []).flatMap((mount) => mountFacts(mount, created, dir)),
    ...subpathFacts(host),
    ...networkFacts(container, created),
    ...(host.Privileged === true ? ['privileged'] : []),
    ...(host.CapAdd ?? []).map((name) => `capability ${normalizeCapability(name)}`),
    ...(host.CapDrop ?? []).map((name) => `without ${normalizeCapability(name)}`),
    ...deviceFacts(host),
    ...securityFacts(host),
    ...(host.GroupAdd ?? []).map((group) => `group ${group}`),
    ...Object.entries(host.Sysctls ?? {}).map(([name, value]) => `sysctl ${name}=${value}`),
    ...namespaceFacts(host, created),
    ...linkFacts(container, created),
    `runtime ${host.Runtime ?? ''}`,
    ...(host.OomKillDisable === true ? ['oom_kill_disable'] : []),
    ...((host.OomScoreAdj ?? 0) < 0 ? [`oom_score_adj ${host.OomScoreAdj}`] : []),
    ...(created.isPodman || (host.CgroupParent ?? '') === '' ? [] : [`cgroup_parent ${host.CgroupParent}`]),
  ];
}

/** The fact that a mounted volume is the project's own. */
export function ownVolumeFact(name: string): string {
  return `volume of the project ${name}`;
}

/** The fact that a network is the project's own. */
export function ownNetworkFact(name: string): string {
  return `network of the project ${name}`;
}

/** Driver and options of a network or volume as facts (see `Allowance`). */
export function resourceFactsOf(part: CreatedNetwork | CreatedResource): string[] {
  const options = Object.entries(part.options).map(([name, value]) => `option ${name}=${value}`);
  const isOpen = 'internal' in part && !part.internal;
  return [`driver ${part.driver}`, ...options, ...(isOpen ? ['outside'] : [])];
}

function mountFacts(mount: CreatedMount, { volumes }: CreatedResources, dir: string): string[] {
  const { Type, Name, RW, Propagation = '' } = mount;
  if (Type === 'tmpfs' || isAnonymousVolume(mount, volumes)) return [];
  const target = trimTrailingSlashes(mount.Destination);
  const source = Type === 'bind' ? trimTrailingSlashes(mount.Source) : (Name ?? mount.Source);
  const inRelease = Type === 'bind' ? pathInRelease(source, dir) : null;
  return [
    `mount ${target} ${Type} ${inRelease ?? source}`,
    ...(RW ? [`write ${target}`] : []),
    ...(Type !== 'bind' || isPrivatePropagation(Propagation) ? [] : [`propagation ${target} ${Propagation}`]),
    ...volumes
      .filter(({ name, isOwn }) => isOwn && Type === 'volume' && name === Name)
      .map(({ name }) => ownVolumeFact(name)),
  ];
}

/** Mounts of a part of a volume. */
function subpathFacts({ Mounts }: CreatedContainer['HostConfig']): string[] {
  return (Mounts ?? []).flatMap(({ Target, VolumeOptions: { Subpath = '' } = {} }) =>
    Subpath === '' ? [] : [`subpath ${normalizePath(Target)} ${Subpath}`],
  );
}

/**
 * A path in this or another release, as `./path`: compose keeps a container when its configs and secrets are
 * unchanged, and its mounts then point to the release that created it.
 */
function pathInRelease(path: string, dir: string): string | null {
  const releases = dir.slice(0, dir.lastIndexOf('/') + 1);
  const match = /^[0-9a-f]{64}(\/.*)?$/s.exec(path.startsWith(releases) ? path.slice(releases.length) : '');
  return match && `./${(match[1] ?? '').slice(1)}`;
}

function networkFacts({ HostConfig, NetworkSettings }: CreatedContainer, created: CreatedResources): string[] {
  const mode = HostConfig.NetworkMode ?? '';
  if (mode === 'host') return ['network host'];
  if (mode.startsWith('container:')) return [sharedNamespaceFact('network', mode, created)];
  const names = Object.keys(NetworkSettings.Networks ?? {}).filter((name) => name !== 'none');
  const own = created.networks.filter(({ name }) => names.includes(name));
  return [...names.map((name) => `network ${name}`), ...own.map(({ name }) => ownNetworkFact(name))];
}

function deviceFacts({ Devices, DeviceRequests, DeviceCgroupRules }: CreatedContainer['HostConfig']): string[] {
  return [
    ...(Devices ?? []).map(
      (each) => `device ${each.PathOnHost}:${each.PathInContainer}:${each.CgroupPermissions || 'rwm'}`,
    ),
    ...((DeviceRequests ?? []).length > 0 ? ['device request'] : []),
    ...(DeviceCgroupRules ?? []).map((rule) => `device rule ${rule}`),
  ];
}

function securityFacts({
  SecurityOpt,
  MaskedPaths,
  Privileged,
  PidMode,
  IpcMode,
}: CreatedContainer['HostConfig']): string[] {
  const options = (SecurityOpt ?? []).map(normalizeSecurityOption);
  const sharesNamespace = [PidMode, IpcMode].some((mode) => mode?.startsWith('container:'));
  // a container that shares a namespace also gets the SELinux label of the other container
  const kept = sharesNamespace ? options.filter((option) => !/^label=(?!disable)/.test(option)) : options;
  const isUnmasked = MaskedPaths?.length === 0 && Privileged !== true;
  return [
    ...kept.map((option) => (option === 'no-new-privileges' ? option : `security ${option}`)),
    ...(isUnmasked ? ['security systempaths=unconfined'] : []),
  ];
}

function namespaceFacts(host: CreatedContainer['HostConfig'], created: CreatedResources): string[] {
  const modes = { pid: host.PidMode, ipc: host.IpcMode, uts: host.UTSMode, userns: host.UsernsMode };
  const facts = Object.entries(modes).flatMap(([kind, mode = '']) =>
    /^(host$|container:|ns:)/.test(mode) ? [sharedNamespaceFact(kind, mode, created)] : [],
  );
  return host.CgroupnsMode === 'private' ? [...facts, 'cgroup private'] : facts;
}

function sharedNamespaceFact(kind: string, mode: string, { containers }: CreatedResources): string {
  const [target = '', id = ''] = mode.split(':');
  const owner = containers.find((each) => each.Id === id || containerName(each) === id);
  return owner ? `${kind} service ${serviceOf(owner)}` : `${kind} ${target}`;
}

/** Links to containers outside the project. */
function linkFacts({ HostConfig, NetworkSettings }: CreatedContainer, { containers }: CreatedResources): string[] {
  const own = new Set(containers.map(containerName));
  const ends = Object.values(NetworkSettings.Networks ?? {}).flatMap((end) => end?.Links ?? []);
  const linked = [...(HostConfig.Links ?? []), ...ends].map((link) => (link.split(':')[0] ?? '').replace(/^\//, ''));
  return linked.filter((name) => !own.has(name)).map((name) => `link ${name}`);
}

function trimTrailingSlashes(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

/** A capability in upper case without the optional `CAP_` prefix: `NET_ADMIN`. */
export function normalizeCapability(name: string): string {
  return name.toUpperCase().replace(/^CAP_/, '');
}

/**
 * A security option in one spelling. The engine stores the text of a seccomp profile, so it becomes `seccomp=profile`.
 */
export function normalizeSecurityOption(option: string): string {
  const [name = '', value] = option.split(/[:=](.*)/s);
  if (name === 'no-new-privileges') return value === 'false' ? 'no-new-privileges=false' : name;
  const isProfile = name === 'seccomp' && !/^(unconfined|builtin)$/.test(value ?? '');
  return isProfile ? 'seccomp=profile' : `${name}=${value ?? ''}`;
}

/** True for a propagation that the engine does not distinguish from its default. */
export function isPrivatePropagation(propagation: string): boolean {
  return ['', 'private', 'rprivate'].includes(propagation);
}

/** A path in the engine's form, without `.`, `..` and empty parts. */
export function normalizePath(path: string): string {
  if (!path.startsWith('/')) return path;
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** Parts of the option `o` that Podman takes itself. */
const podmanParts = /^(size|inodes|uid|gid)=/i;

/** The options of a volume as they were given: Podman repeats parts of `o` as options of their own, `UID` for `uid=…`. */
export function givenVolumeOptions(options: Readonly<Record<string, string>> | null): Record<string, string> {
  const parts = (options?.['o'] ?? '').split(',').filter((part) => podmanParts.test(part));
  const repeated = new Set(parts.map((part) => part.replace(/^[^=]*/, (name) => name.toUpperCase())));
  const isGiven = ([name, value]: [string, string]) => !repeated.has(`${name}=${value}`);
  return Object.fromEntries(Object.entries(options ?? {}).filter(isGiven));
}
