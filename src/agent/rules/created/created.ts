import { capabilityOf, securityOf } from './facts.ts';

/** What is read of the engine's inspection of a container that compose made; its environment is in it too. */
export interface Creation {
  Id: string;
  Name: string;
  Image: string;
  State: { Status: string; StartedAt?: string };
  Config: { Labels: Record<string, string> | null };
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
  }>;
  Mounts: MadeMount[] | null;
  NetworkSettings: { Networks: Record<string, { Links?: string[] | null } | null> | null };
}

export interface MadeMount {
  Type: string;
  Name?: string;
  Source: string;
  Destination: string;
  Driver?: string;
  RW: boolean;
  Propagation?: string;
}

/** A volume as the engine has it. */
export interface MadeVolume {
  name: string;
  driver: string;
  options: Readonly<Record<string, string>>;
}

/** A network as the engine has it. */
export interface MadeNetwork extends MadeVolume {
  id: string;
  internal: boolean;
}

/** What the engine has of a project. */
export interface Made {
  containers: Creation[];
  volumes: MadeVolume[];
  networks: MadeNetwork[];
  isPodman: boolean;
}

/** The service that a container is of. */
export function serviceOf({ Config }: Creation): string {
  return Config.Labels?.['com.docker.compose.service'] ?? '';
}

/** A container's name as people know it. */
export function containerName({ Name }: Creation): string {
  return Name.replace(/^\//, '');
}

/** A volume that nobody named: the engine made it for this container, or for the one that this one follows. */
export function isAnonymous({ Type, Name }: MadeMount, volumes: readonly MadeVolume[]): boolean {
  if (Type !== 'volume' || !/^[0-9a-f]{64}$/.test(Name ?? '')) return false;
  const volume = volumes.find(({ name }) => name === Name);
  return volume?.driver === 'local' && Object.keys(volume.options).length === 0;
}

/** Its anonymous volumes, and where it mounts them. */
export function anonymousOf({ Mounts }: Creation, volumes: readonly MadeVolume[]): { name: string; target: string }[] {
  const own = (Mounts ?? []).filter((mount) => isAnonymous(mount, volumes));
  return own.map(({ Name = '', Destination }) => ({ name: Name, target: Destination }));
}

/** What two containers have alike of which compose keeps one: service and number. */
export function slotOf(container: Creation): string {
  return `${serviceOf(container)} ${container.Config.Labels?.['com.docker.compose.container-number'] ?? ''}`;
}

/** What a container has, in the words of `Granted`; `dir` is the release's directory, beside those of others. */
export function factsOf(container: Creation, made: Made, dir: string): string[] {
  const { HostConfig: host } = container;
  return [
    ...(container.Mounts ?? []).flatMap((mount) => mountFacts(mount, made, dir)),
    ...networkFacts(container, made),
    ...(host.Privileged === true ? ['privileged'] : []),
    ...(host.CapAdd ?? []).map((name) => `capability ${capabilityOf(name)}`),
    ...(host.CapDrop ?? []).map((name) => `without ${capabilityOf(name)}`),
    ...deviceFacts(host),
    ...securityFacts(host),
    ...(host.GroupAdd ?? []).map((group) => `group ${group}`),
    ...Object.entries(host.Sysctls ?? {}).map(([name, value]) => `sysctl ${name}=${value}`),
    ...namespaceFacts(host, made),
    ...linksOf(container, made),
    `runtime ${host.Runtime ?? ''}`,
    ...(host.OomKillDisable === true ? ['oom_kill_disable'] : []),
    ...((host.OomScoreAdj ?? 0) < 0 ? [`oom_score_adj ${host.OomScoreAdj}`] : []),
    ...(made.isPodman || (host.CgroupParent ?? '') === '' ? [] : [`cgroup_parent ${host.CgroupParent}`]),
  ];
}

/** What a network or volume is like, in the words of `Granted`. */
export function outerFactsOf(part: MadeNetwork | MadeVolume): string[] {
  const options = Object.entries(part.options).map(([name, value]) => `option ${name}=${value}`);
  const isOpen = 'internal' in part && !part.internal;
  return [`driver ${part.driver}`, ...options, ...(isOpen ? ['outside'] : [])];
}

function mountFacts(mount: MadeMount, { volumes }: Made, dir: string): string[] {
  const { Type, Name, RW, Propagation = '' } = mount;
  if (Type === 'tmpfs' || isAnonymous(mount, volumes)) return [];
  const target = clean(mount.Destination);
  const source = Type === 'bind' ? clean(mount.Source) : (Name ?? mount.Source);
  const own = Type === 'bind' ? pathInRelease(source, dir) : null;
  return [
    `mount ${target} ${Type} ${own ?? source}`,
    ...(RW ? [`write ${target}`] : []),
    ...(Type !== 'bind' || /^(r?private)?$/.test(Propagation) ? [] : [`propagation ${target} ${Propagation}`]),
  ];
}

/**
 * A path in a release, of this or another one: compose leaves a container as it is whose config or secret did not change, and
 * that lies where it was made.
 */
function pathInRelease(path: string, dir: string): string | null {
  const releases = dir.slice(0, dir.lastIndexOf('/') + 1);
  const match = /^[0-9a-f]{64}(\/.*)?$/s.exec(path.startsWith(releases) ? path.slice(releases.length) : '');
  return match && `./${(match[1] ?? '').slice(1)}`;
}

function networkFacts({ HostConfig, NetworkSettings }: Creation, made: Made): string[] {
  const mode = HostConfig.NetworkMode ?? '';
  if (mode === 'host') return ['network host'];
  if (mode.startsWith('container:')) return [shared('network', mode, made)];
  const names = Object.keys(NetworkSettings.Networks ?? {}).filter((name) => name !== 'none');
  return names.map((name) => `network ${name}`);
}

function deviceFacts({ Devices, DeviceRequests, DeviceCgroupRules }: Creation['HostConfig']): string[] {
  return [
    ...(Devices ?? []).map(
      (each) => `device ${each.PathOnHost}:${each.PathInContainer}:${each.CgroupPermissions || 'rwm'}`,
    ),
    ...((DeviceRequests ?? []).length > 0 ? ['device request'] : []),
    ...(DeviceCgroupRules ?? []).map((rule) => `device rule ${rule}`),
  ];
}

function securityFacts({ SecurityOpt, MaskedPaths, Privileged, PidMode, IpcMode }: Creation['HostConfig']): string[] {
  const options = (SecurityOpt ?? []).map(securityOf);
  const follows = [PidMode, IpcMode].some((mode) => mode?.startsWith('container:'));
  // with the namespace of another container comes its label
  const own = follows ? options.filter((option) => !/^label=(?!disable)/.test(option)) : options;
  const isUnmasked = MaskedPaths?.length === 0 && Privileged !== true;
  return [
    ...own.map((option) => (option === 'no-new-privileges' ? option : `security ${option}`)),
    ...(isUnmasked ? ['security systempaths=unconfined'] : []),
  ];
}

function namespaceFacts(host: Creation['HostConfig'], made: Made): string[] {
  const modes = { pid: host.PidMode, ipc: host.IpcMode, uts: host.UTSMode, userns: host.UsernsMode };
  const facts = Object.entries(modes).flatMap(([kind, mode = '']) =>
    /^(host$|container:|ns:)/.test(mode) ? [shared(kind, mode, made)] : [],
  );
  return host.CgroupnsMode === 'private' ? [...facts, 'cgroup private'] : facts;
}

function shared(kind: string, mode: string, { containers }: Made): string {
  const [whose = '', id = ''] = mode.split(':');
  const holder = containers.find((each) => each.Id === id || containerName(each) === id);
  return holder ? `${kind} service ${serviceOf(holder)}` : `${kind} ${whose}`;
}

/** Links to containers that are not of the project. */
function linksOf({ HostConfig, NetworkSettings }: Creation, { containers }: Made): string[] {
  const own = new Set(containers.map(containerName));
  const ends = Object.values(NetworkSettings.Networks ?? {}).flatMap((end) => end?.Links ?? []);
  const linked = [...(HostConfig.Links ?? []), ...ends].map((link) => (link.split(':')[0] ?? '').replace(/^\//, ''));
  return linked.filter((name) => !own.has(name)).map((name) => `link ${name}`);
}

function clean(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}
