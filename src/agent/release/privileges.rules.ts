import type { ServiceKey } from '../../bundle/policy/service.rules.ts';
import {
  containerName,
  type CreatedContainer,
  type CreatedMount,
  type CreatedResources,
  isAnonymousVolume,
  isPrivatePropagation,
  normalizePath,
  serviceOf,
} from '../engine/createdContainer.rules.ts';
import {
  type ContestedNames,
  engineNameOf,
  listOf,
  type ModelMount,
  type ModelObject,
  objectOf,
  textOf,
  textsOf,
} from './model.rules.ts';

/**
 * The facts that a container, network or volume may have and must have: `mount /x bind /etc`, `capability NET_ADMIN`,
 * `network deployd-eu-1_default`. Files of the release are written as `./path`.
 */
export interface Allowance {
  may: string[];
  must: string[];
}

/** A service of a rendered model. */
interface RenderedService {
  service: ModelObject;
  /** Null when they are unknown, because a container outside the project provides them. */
  mounts: ModelMount[] | null;
  /** The whole model. */
  root: ModelObject;
  contested: ContestedNames;
}

/** A container that compose created. */
interface ContainerAmong {
  container: CreatedContainer;
  created: CreatedResources;
  /** The directory of the release. */
  dir: string;
}

/** How a service key appears in its container, as facts. */
interface KeyReaders {
  /** Facts that the container may have, by the rendered model. */
  may?: (rendered: RenderedService) => string[];
  /** Facts that it must have. */
  must?: (rendered: RenderedService) => string[];
  /** Facts that it has according to the engine. */
  has?: (created: ContainerAmong) => string[];
}

const isTrue = (value: unknown) => value === true || value === 'true';

/** A key whose fact is one text for each item of a list. */
function each(key: ServiceKey, field: 'GroupAdd' | 'DeviceCgroupRules', factOf: (text: string) => string): KeyReaders {
  return {
    may: ({ service }) => textsOf(service[key]).map(factOf),
    has: ({ container: { HostConfig } }) => (HostConfig[field] ?? []).map(factOf),
  };
}

/** A key that shares a namespace with the host, a service or a container. */
function namespace(key: ServiceKey, field: 'PidMode' | 'IpcMode' | 'UTSMode' | 'UsernsMode'): KeyReaders {
  const kind = key.replace('_mode', '');
  return {
    may: ({ service }) => {
      const mode = textOf(service[key]);
      return /^(host$|service:|container:)/.test(mode) ? [namespaceFact(kind, mode)] : [];
    },
    has: ({ container, created }) => {
      const mode = container.HostConfig[field] ?? '';
      return /^(host$|container:|ns:)/.test(mode) ? [sharedNamespaceFact(kind, mode, created)] : [];
    },
  };
}

/** The words of a text. */
type Words<T extends string> = T extends `${infer TFirst} ${infer TRest}` ? TFirst | Words<TRest> : T;

/** Keys that grant nothing visible in a container. */
function grantNothing<T extends string>(keys: T): Record<Words<T>, null> {
  return Object.fromEntries(keys.split(' ').map((key) => [key, null])) as Record<Words<T>, null>;
}

/**
 * The effect of each service key on its container. Together with `serviceKeys`, which validates the files and the
 * rendered model, it is the one table of keys. A key that the policy allows and that is missing here does not
 * compile. `null`: the key grants nothing over the host, or another row reads it.
 */
const keyReaders: Readonly<Record<ServiceKey, KeyReaders | null>> = {
  volumes: { may: mayMount, must: mustMount, has: hasMounts }, // and volumes_from, configs, secrets, use_api_socket
  network_mode: {
    may: (rendered) => networkAllowance(rendered).may,
    must: (rendered) => {
      const { must } = networkAllowance(rendered);
      return [
        ...must,
        ...rendered.contested.networks.filter((name) => must.includes(`network ${name}`)).map(ownNetworkFact),
      ];
    },
    has: hasNetworks,
  },
  privileged: {
    may: ({ service }) => (isTrue(service['privileged']) ? ['privileged'] : []),
    has: ({ container: { HostConfig } }) => (HostConfig.Privileged === true ? ['privileged'] : []),
  },
  cap_add: {
    may: ({ service }) => textsOf(service['cap_add']).map((name) => `capability ${normalizeCapability(name)}`),
    has: ({ container: { HostConfig } }) =>
      (HostConfig.CapAdd ?? []).map((name) => `capability ${normalizeCapability(name)}`),
  },
  cap_drop: {
    must: ({ service }) => textsOf(service['cap_drop']).map((name) => `without ${normalizeCapability(name)}`),
    has: ({ container: { HostConfig } }) =>
      (HostConfig.CapDrop ?? []).map((name) => `without ${normalizeCapability(name)}`),
  },
  devices: {
    may: ({ service }) => listOf(service['devices']).map(deviceFact),
    has: ({ container: { HostConfig } }) =>
      (HostConfig.Devices ?? []).map(
        (one) => `device ${one.PathOnHost}:${one.PathInContainer}:${one.CgroupPermissions || 'rwm'}`,
      ),
  },
  gpus: {
    may: ({ service }) => (requestsDevice(service) ? ['device request'] : []),
    has: ({ container: { HostConfig } }) => ((HostConfig.DeviceRequests ?? []).length > 0 ? ['device request'] : []),
  },
  device_cgroup_rules: each('device_cgroup_rules', 'DeviceCgroupRules', (rule) => `device rule ${rule}`),
  security_opt: { may: maySecurity, must: mustSecurity, has: hasSecurity },
  group_add: each('group_add', 'GroupAdd', (group) => `group ${group}`),
  sysctls: {
    may: ({ service }) =>
      Object.entries(objectOf(service['sysctls'])).map(([name, value]) => `sysctl ${name}=${textOf(value)}`),
    has: ({ container: { HostConfig } }) =>
      Object.entries(HostConfig.Sysctls ?? {}).map(([name, value]) => `sysctl ${name}=${value}`),
  },
  pid: namespace('pid', 'PidMode'),
  ipc: namespace('ipc', 'IpcMode'),
  uts: namespace('uts', 'UTSMode'),
  userns_mode: namespace('userns_mode', 'UsernsMode'),
  cgroup: {
    must: ({ service }) => (textOf(service['cgroup']) === 'private' ? ['cgroup private'] : []),
    has: ({ container: { HostConfig } }) => (HostConfig.CgroupnsMode === 'private' ? ['cgroup private'] : []),
  },
  external_links: {
    may: ({ service }) => (listOf(service['external_links']).length > 0 ? ['link *'] : []),
    has: hasLinks,
  },
  runtime: {
    must: ({ service }) => (textOf(service['runtime']) === '' ? [] : [`runtime ${textOf(service['runtime'])}`]),
    has: ({ container: { HostConfig } }) => [`runtime ${HostConfig.Runtime ?? ''}`],
  },
  oom_kill_disable: {
    may: ({ service }) => (isTrue(service['oom_kill_disable']) ? ['oom_kill_disable'] : []),
    has: ({ container: { HostConfig } }) => (HostConfig.OomKillDisable === true ? ['oom_kill_disable'] : []),
  },
  oom_score_adj: {
    may: ({ service }) => scoreFacts(Number(service['oom_score_adj'])),
    has: ({ container: { HostConfig } }) => scoreFacts(HostConfig.OomScoreAdj ?? 0),
  },
  cgroup_parent: {
    may: ({ service }) => parentFacts(textOf(service['cgroup_parent'])),
    has: ({ container: { HostConfig }, created: { isPodman } }) =>
      isPodman ? [] : parentFacts(HostConfig.CgroupParent ?? ''),
  },
  ...grantNothing('volumes_from configs secrets use_api_socket networks deploy'), // read as `volumes` and `network_mode`, `deploy` as `gpus`
  ...grantNothing(
    'annotations attach blkio_config build command container_name cpu_count cpu_percent cpu_period cpu_quota',
  ),
  ...grantNothing('cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset credential_spec depends_on develop dns dns_opt'),
  ...grantNothing(
    'dns_search domainname entrypoint env_file environment expose extends extra_hosts healthcheck hostname',
  ),
  ...grantNothing(
    'image init isolation label_file labels links logging mac_address mem_limit mem_reservation mem_swappiness',
  ),
  ...grantNothing('memswap_limit models pids_limit platform ports post_start pre_start pre_stop profiles provider'),
  ...grantNothing(
    'pull_policy pull_refresh_after read_only restart scale shm_size stdin_open stop_grace_period stop_signal',
  ),
  ...grantNothing('storage_opt tmpfs tty ulimits user working_dir'),
};

const rows = Object.values(keyReaders).filter((row) => row !== null);

/** The privileges that a service of a rendered model grants to its containers. */
export function serviceAllowance(rendered: RenderedService): Allowance {
  return {
    may: rows.flatMap(({ may }) => may?.(rendered) ?? []),
    must: rows.flatMap(({ must }) => must?.(rendered) ?? []),
  };
}

/** The privileges of a container as facts (see `Allowance`); `dir` is the directory of the release. */
export function containerFactsOf(container: CreatedContainer, created: CreatedResources, dir: string): string[] {
  return rows.flatMap(({ has }) => has?.({ container, created, dir }) ?? []);
}

/** The fact that a mounted volume belongs to the project. */
function ownVolumeFact(name: string): string {
  return `volume of the project ${name}`;
}

/** The fact that a network belongs to the project. */
function ownNetworkFact(name: string): string {
  return `network of the project ${name}`;
}

const mountFact = ({ target, typeAndSource }: ModelMount) => `mount ${target} ${typeAndSource}`;

function namedMounts({ mounts }: RenderedService): ModelMount[] {
  return (mounts ?? []).filter(({ typeAndSource }) => typeAndSource !== null);
}

function mayMount(rendered: RenderedService): string[] {
  const named = namedMounts(rendered);
  return [
    ...(rendered.mounts === null ? ['mount *'] : named.map(mountFact)),
    ...named.filter(({ isWritable }) => isWritable).map(({ target }) => `write ${target}`),
    ...named.flatMap(({ target, propagation }) => propagation.map((mode) => `propagation ${target} ${mode}`)),
  ];
}

/** An engine or compose without support for `subpath` mounts the whole volume. */
function mustMount(rendered: RenderedService): string[] {
  const required = namedMounts(rendered).filter(({ isRequired }) => isRequired);
  const isMounted = (name: string) => required.some(({ typeAndSource }) => typeAndSource === `volume ${name}`);
  return [
    ...required.flatMap((mount) => [mountFact(mount), ...subpathFact(mount.target, mount.subpath)]),
    ...rendered.contested.volumes.filter(isMounted).map(ownVolumeFact),
  ];
}

function subpathFact(target: string, subpath: string): string[] {
  return subpath === '' ? [] : [`subpath ${target} ${subpath}`];
}

function hasMounts({ container, created, dir }: ContainerAmong): string[] {
  const parts = container.HostConfig.Mounts ?? [];
  return [
    ...(container.Mounts ?? []).flatMap((mount) => factsOfMount(mount, created, dir)),
    ...parts.flatMap(({ Target, VolumeOptions: { Subpath = '' } = {} }) => subpathFact(normalizePath(Target), Subpath)),
  ];
}

function factsOfMount(mount: CreatedMount, { volumes }: CreatedResources, dir: string): string[] {
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

/**
 * A path in this or another release, as `./path`: compose keeps a container when its configs and secrets are
 * unchanged, and its mounts then point to the release that created it.
 */
function pathInRelease(path: string, dir: string): string | null {
  const releases = dir.slice(0, dir.lastIndexOf('/') + 1);
  const match = /^[0-9a-f]{64}(\/.*)?$/s.exec(path.startsWith(releases) ? path.slice(releases.length) : '');
  return match && `./${(match[1] ?? '').slice(1)}`;
}

/** The networks of a service: those that it may use, and those that it must use. */
function networkAllowance({ service, root }: RenderedService): Allowance {
  const mode = textOf(service['network_mode']);
  const engineDefaults = ['network bridge', 'network podman'];
  if (mode === 'none') return { may: [], must: [] };
  if (/^(service|container):/.test(mode)) return { may: [namespaceFact('network', mode)], must: [] };
  if (mode !== '')
    return { may: [`network ${mode}`, ...(/^(bridge|default)$/.test(mode) ? engineDefaults : [])], must: [] };
  const keys = Object.keys(objectOf(service['networks']));
  const facts = keys.map((key) => `network ${engineNameOf(root, key, objectOf(root['networks'])[key])}`);
  return { may: facts, must: facts };
}

function hasNetworks({ container: { HostConfig, NetworkSettings }, created }: ContainerAmong): string[] {
  const mode = HostConfig.NetworkMode ?? '';
  if (mode === 'host') return ['network host'];
  if (mode.startsWith('container:')) return [sharedNamespaceFact('network', mode, created)];
  const names = Object.keys(NetworkSettings.Networks ?? {}).filter((name) => name !== 'none');
  const own = created.networks.filter(({ name }) => names.includes(name));
  return [...names.map((name) => `network ${name}`), ...own.map(({ name }) => ownNetworkFact(name))];
}

/** True for a service that requests a GPU or another device of a driver. */
function requestsDevice(service: ModelObject): boolean {
  const reserved = objectOf(objectOf(objectOf(service['deploy'])['resources'])['reservations'])['devices'];
  return listOf(service['gpus']).length + listOf(reserved).length > 0 || textOf(service['gpus']) !== '';
}

function deviceFact(device: unknown): string {
  const [source = '', target, permissions] =
    typeof device === 'string'
      ? textOf(device).split(':')
      : ['source', 'target', 'permissions'].map((key) => textOf(objectOf(device)[key]) || undefined);
  if (!source.startsWith('/')) return 'device request';
  return `device ${source}:${target ?? source}:${permissions ?? 'rwm'}`;
}

function scoreFacts(score: number): string[] {
  return score < 0 ? [`oom_score_adj ${score}`] : [];
}

function parentFacts(parent: string): string[] {
  return parent === '' ? [] : [`cgroup_parent ${parent}`];
}

function maySecurity({ service }: RenderedService): string[] {
  const disablesLabel =
    service['privileged'] === true || textOf(service['pid']) === 'host' || textOf(service['ipc']) === 'host';
  return [
    ...textsOf(service['security_opt']).map((option) => `security ${normalizeSecurityOption(option)}`),
    ...(disablesLabel ? ['security label=disable'] : []),
  ];
}

function mustSecurity({ service }: RenderedService): string[] {
  const options = textsOf(service['security_opt']).map(normalizeSecurityOption);
  return options.includes('no-new-privileges') ? ['no-new-privileges'] : [];
}

function hasSecurity({ container }: ContainerAmong): string[] {
  const { SecurityOpt, MaskedPaths, Privileged, PidMode, IpcMode } = container.HostConfig;
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

/** The fact of a namespace shared with the host, a service or a container. */
function namespaceFact(kind: string, mode: string): string {
  const [target = '', name = ''] = mode.split(':');
  return target === 'service' ? `${kind} service ${name}` : `${kind} ${target}`;
}

function sharedNamespaceFact(kind: string, mode: string, { containers }: CreatedResources): string {
  const [target = '', id = ''] = mode.split(':');
  const owner = containers.find((each) => each.Id === id || containerName(each) === id);
  return owner ? `${kind} service ${serviceOf(owner)}` : `${kind} ${target}`;
}

/** Links to containers outside the project. */
function hasLinks({ container: { HostConfig, NetworkSettings }, created: { containers } }: ContainerAmong): string[] {
  const own = new Set(containers.map(containerName));
  const ends = Object.values(NetworkSettings.Networks ?? {}).flatMap((end) => end?.Links ?? []);
  const linked = [...(HostConfig.Links ?? []), ...ends].map((link) => (link.split(':')[0] ?? '').replace(/^\//, ''));
  return linked.filter((name) => !own.has(name)).map((name) => `link ${name}`);
}

function trimTrailingSlashes(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

/** A capability in upper case without the optional `CAP_` prefix: `NET_ADMIN`. */
function normalizeCapability(name: string): string {
  return name.toUpperCase().replace(/^CAP_/, '');
}

/**
 * A security option in one spelling. The engine stores the text of a seccomp profile, so it becomes `seccomp=profile`.
 */
function normalizeSecurityOption(option: string): string {
  const [name = '', value] = option.split(/[:=](.*)/s);
  if (name === 'no-new-privileges') return value === 'false' ? 'no-new-privileges=false' : name;
  const isProfile = name === 'seccomp' && !/^(unconfined|builtin)$/.test(value ?? '');
  return isProfile ? 'seccomp=profile' : `${name}=${value ?? ''}`;
}
