import { capabilityOf, securityOf } from './facts.ts';

/**
 * What a container, network or volume may have and must have, one fact a line: `mount /x bind /etc`, `capability NET_ADMIN`,
 * `network deployd-eu-1_default`. Files of the release stand as `./path`.
 */
export interface Allowance {
  may: string[];
  must: string[];
}

/** What compose's model of a release gives each part of it. */
export interface Granted {
  schema: 1;
  services: Record<string, Allowance>;
  /** By their names on the engine; null for what exists outside the project. */
  networks: Record<string, Allowance | null>;
  volumes: Record<string, Allowance | null>;
}

type Part = Readonly<Record<string, unknown>>;

/** The facts of a rendered model (`compose config --format json`) whose files lie in `dir`. They may hold secrets: see `sealed`. */
export function grantedOf(model: unknown, dir: string): Granted {
  const root = partOf(model);
  const services = partOf(root['services']);
  const sources = { root, services, dir };
  const each = (parts: unknown, allow: (part: Part) => Allowance | null) =>
    Object.fromEntries(
      Object.entries(partOf(parts)).map(([key, part]) => [nameOf(root, key, part), allow(partOf(part))]),
    );
  return {
    schema: 1,
    services: Object.fromEntries(
      Object.keys(services).map((name) => [name, allowanceOf(partOf(services[name]), mountsOf(name, sources), root)]),
    ),
    networks: each(root['networks'], networkAllowance),
    volumes: each(root['volumes'], volumeAllowance),
  };
}

/** The same, each fact and each name of a network or volume through `seal`, which hides those that hold a secret. */
export function sealed({ services, networks, volumes }: Granted, seal: (text: string) => string): Granted {
  const hide = ({ may, must }: Allowance) => ({ may: may.map(seal), must: must.map(seal) });
  const outer = (parts: Granted['networks']) =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [seal(name), part && hide(part)]));
  return {
    schema: 1,
    services: Object.fromEntries(Object.entries(services).map(([name, part]) => [name, hide(part)])),
    networks: outer(networks),
    volumes: outer(volumes),
  };
}

/** What a text written from `Granted` says, null when it is none. */
export function parseGranted(text: string): Granted | null {
  const isAllowance = (part: unknown) => [partOf(part)['may'], partOf(part)['must']].every(isTexts);
  try {
    const value = JSON.parse(text) as Granted;
    const { services, networks, volumes } = value;
    const outer = [networks, volumes].flatMap((parts) => Object.values(parts)).filter((part) => part !== null);
    return partOf(value)['schema'] === 1 && [...Object.values(services), ...outer].every(isAllowance) ? value : null;
  } catch {
    return null;
  }
}

/** A mount as the model gives it. */
interface Mount {
  target: string;
  /** Null for an anonymous volume, which is the service's own. */
  what: string | null;
  writable: boolean;
  propagation: string[];
  /** Compose may give a config or secret in another way than by a mount. */
  sure: boolean;
}

interface Sources {
  root: Part;
  services: Part;
  dir: string;
}

/** The mounts of a service, those of others that it takes over by `volumes_from` included; null where they cannot be known. */
function mountsOf(name: string, sources: Sources, above: string[] = []): Mount[] | null {
  const service = partOf(sources.services[name]);
  const own = [
    ...listOf(service['volumes']).flatMap((mount) => mountOf(partOf(mount), sources)),
    ...filesOf(service, sources),
  ];
  const taken: Mount[] = [];
  for (const from of textsOf(service['volumes_from'])) {
    const [source = '', mode] = from.split(':');
    if (source === 'container') return null;
    const theirs = above.includes(source) ? [] : mountsOf(source, sources, [...above, name]);
    if (theirs === null) return null;
    taken.push(...theirs.map((mount) => ({ ...mount, sure: false, writable: mount.writable && mode !== 'ro' })));
  }
  const targets = new Set(own.map(({ target }) => target));
  return [...own, ...taken.filter(({ target }) => !targets.has(target))];
}

function mountOf(mount: Part, { root, dir }: Sources): Mount[] {
  const type = textOf(mount['type']);
  if (type === 'tmpfs') return [];
  const given = textOf(mount['source']);
  const source = type === 'bind' ? ownPath(given, dir) : nameOf(root, given, partOf(root['volumes'])[given]);
  const stated = textOf(partOf(mount['bind'])['propagation']).replace(/^r?private$/, '');
  // of a path above the engine's own directory the engine makes a slave
  const implied = type === 'bind' && !source.startsWith('./') ? ['rslave'] : [];
  return [
    {
      target: cleanPath(textOf(mount['target'])),
      what: given === '' ? null : `${type} ${source}`,
      writable: mount['read_only'] !== true,
      propagation: stated === '' ? implied : [stated],
      sure: given !== '',
    },
  ];
}

/** Configs and secrets that are files, and the engine's socket. */
function filesOf(service: Part, { root, dir }: Sources): Mount[] {
  const bound = (kind: 'configs' | 'secrets', base: string) =>
    listOf(service[kind]).flatMap((reference) => {
      const { source, target } = typeof reference === 'string' ? { source: reference, target: '' } : partOf(reference);
      const file = textOf(partOf(partOf(root[kind])[textOf(source)])['file']);
      const name = textOf(target) || textOf(source);
      const at = name.startsWith('/') ? cleanPath(name) : cleanPath(`${base}/${name}`);
      return file === '' ? [] : [fileMount(at, ownPath(file, dir), false)];
    });
  const socket = '/var/run/docker.sock';
  const api = service['use_api_socket'] === true ? [fileMount(socket, socket, true)] : [];
  return [...bound('configs', '/'), ...bound('secrets', '/run/secrets'), ...api];
}

function fileMount(target: string, source: string, writable: boolean): Mount {
  return { target, what: `bind ${source}`, writable, propagation: [], sure: false };
}

function allowanceOf(service: Part, mounts: Mount[] | null, root: Part): Allowance {
  const { may, must } = networksOf(service, root);
  const named = (mounts ?? []).filter(({ what }) => what !== null);
  const factOf = ({ target, what }: Mount) => `mount ${target} ${what}`;
  return {
    may: [
      ...(mounts === null ? ['mount *'] : named.map(factOf)),
      ...named.filter(({ writable }) => writable).map(({ target }) => `write ${target}`),
      ...named.flatMap(({ target, propagation }) => propagation.map((mode) => `propagation ${target} ${mode}`)),
      ...may,
      ...powersOf(service),
    ],
    must: [...named.filter(({ sure }) => sure).map(factOf), ...must, ...limitsOf(service)],
  };
}

function networksOf(service: Part, root: Part): Allowance {
  const mode = textOf(service['network_mode']);
  const ofEngine = ['network bridge', 'network podman'];
  if (mode === 'none') return { may: [], must: [] };
  if (/^(service|container):/.test(mode)) return { may: [sharedFact('network', mode)], must: [] };
  if (mode !== '') return { may: [`network ${mode}`, ...(/^(bridge|default)$/.test(mode) ? ofEngine : [])], must: [] };
  const keys = Object.keys(partOf(service['networks']));
  const facts = keys.map((key) => `network ${nameOf(root, key, partOf(root['networks'])[key])}`);
  return { may: facts, must: facts };
}

/** Powers besides mounts and networks. */
function powersOf(service: Part): string[] {
  const when = (key: string, fact: string) => (service[key] === true || service[key] === 'true' ? [fact] : []);
  const namespaces = ['pid', 'ipc', 'uts', 'userns_mode'].flatMap((key) => {
    const mode = textOf(service[key]);
    return /^(host$|service:|container:)/.test(mode) ? [sharedFact(key.replace('_mode', ''), mode)] : [];
  });
  const reserved = partOf(partOf(partOf(service['deploy'])['resources'])['reservations'])['devices'];
  const isHelped = listOf(service['gpus']).length + listOf(reserved).length > 0 || textOf(service['gpus']) !== '';
  const isUnlabelled =
    service['privileged'] === true || textOf(service['pid']) === 'host' || textOf(service['ipc']) === 'host';
  return [
    ...when('privileged', 'privileged'),
    ...textsOf(service['cap_add']).map((name) => `capability ${capabilityOf(name)}`),
    ...listOf(service['devices']).map(deviceFact),
    ...(isHelped ? ['device request'] : []),
    ...textsOf(service['device_cgroup_rules']).map((rule) => `device rule ${rule}`),
    ...textsOf(service['security_opt']).map((option) => `security ${securityOf(option)}`),
    ...(isUnlabelled ? ['security label=disable'] : []),
    ...textsOf(service['group_add']).map((group) => `group ${group}`),
    ...Object.entries(partOf(service['sysctls'])).map(([name, value]) => `sysctl ${name}=${textOf(value)}`),
    ...namespaces,
    ...(listOf(service['external_links']).length > 0 ? ['link *'] : []),
    ...when('oom_kill_disable', 'oom_kill_disable'),
    ...(Number(service['oom_score_adj']) < 0 ? [`oom_score_adj ${Number(service['oom_score_adj'])}`] : []),
    ...(textOf(service['cgroup_parent']) === '' ? [] : [`cgroup_parent ${textOf(service['cgroup_parent'])}`]),
  ];
}

/** What takes power away, and the runtime, of which only the engine knows the usual one. */
function limitsOf(service: Part): string[] {
  const isNoNew = textsOf(service['security_opt']).map(securityOf).includes('no-new-privileges');
  return [
    ...textsOf(service['cap_drop']).map((name) => `without ${capabilityOf(name)}`),
    ...(isNoNew ? ['no-new-privileges'] : []),
    ...(textOf(service['cgroup']) === 'private' ? ['cgroup private'] : []),
    ...(textOf(service['runtime']) === '' ? [] : [`runtime ${textOf(service['runtime'])}`]),
  ];
}

function sharedFact(kind: string, mode: string): string {
  const [whose = '', name = ''] = mode.split(':');
  return whose === 'service' ? `${kind} service ${name}` : `${kind} ${whose}`;
}

function deviceFact(device: unknown): string {
  const [source = '', target, permissions] =
    typeof device === 'string'
      ? textOf(device).split(':')
      : ['source', 'target', 'permissions'].map((key) => textOf(partOf(device)[key]) || undefined);
  if (!source.startsWith('/')) return 'device request';
  return `device ${source}:${target ?? source}:${permissions ?? 'rwm'}`;
}

function networkAllowance(network: Part): Allowance | null {
  if (network['external'] === true) return null;
  return {
    may: [
      `driver ${textOf(network['driver']) || 'bridge'}`,
      ...optionsOf(network),
      ...(network['internal'] === true ? [] : ['outside']),
    ],
    must: [],
  };
}

function volumeAllowance(volume: Part): Allowance | null {
  if (volume['external'] === true) return null;
  return { may: [`driver ${textOf(volume['driver']) || 'local'}`, ...optionsOf(volume)], must: [] };
}

function optionsOf(part: Part): string[] {
  return Object.entries(partOf(part['driver_opts'])).map(([name, value]) => `option ${name}=${textOf(value)}`);
}

/** The engine's name of a network or volume. */
function nameOf(root: Part, key: string, part: unknown): string {
  return textOf(partOf(part)['name']) || `${textOf(root['name'])}_${key}`;
}

/** `./path` for a path in the release. */
function ownPath(path: string, dir: string): string {
  const clean = cleanPath(path);
  return clean === dir || clean.startsWith(`${dir}/`) ? `./${clean.slice(dir.length + 1)}` : clean;
}

/** A path as the engine tells it. */
function cleanPath(path: string): string {
  if (!path.startsWith('/')) return path;
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** A rendered model doubles every dollar sign. */
function textOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value.replaceAll('$$', '$') : '';
}

function textsOf(value: unknown): string[] {
  return listOf(value).map(textOf);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function partOf(value: unknown): Part {
  return typeof value === 'object' && value !== null ? (value as Part) : {};
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
