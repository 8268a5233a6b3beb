import { mountsOf, type Mount } from './mounts.ts';
import { limitsOf, powersOf, sharedFact } from './powers.ts';
import { nameOf, partOf, textOf, type Part } from './rendered.ts';

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

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
