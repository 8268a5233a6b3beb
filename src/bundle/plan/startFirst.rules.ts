import { type Refusal, type RefusedFault, refusalWith } from '../../../machines/refusals.ts';
import { printable } from '../../core/text.rules.ts';
import {
  type ComposeNode,
  entriesOf,
  itemsOf,
  nodeFromJson,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
} from '../compose/composeNode.rules.ts';
import { isReadOnlyMount } from '../compose/mounts.rules.ts';
import { publishedPortsOf } from '../compose/networks.rules.ts';
import { type ServiceLayers, serviceLayers } from '../compose/services.rules.ts';
import { durationSeconds } from '../policy/quantities.rules.ts';
import { type BundleToStart, fault, isTrue, type ReadService, readServices } from './bundleToStart.rules.ts';
import type { Change } from './changes.rules.ts';
import type { ServiceImages } from './images.rules.ts';
import { replicasOf } from './resourceFaults.rules.ts';

/** How the containers of a service are replaced start-first: new ones are healthy before the old ones stop. */
export interface StartFirst {
  replicas: number;
  /** How many are replaced at a time. */
  parallelism: number;
  /** Seconds between two batches. */
  delay_s: number;
  /** Seconds for which a new container must stay healthy before an old one stops. */
  monitor_s: number;
}

/** The key of a service that permits two generations of its containers on one volume; other programs ignore it. */
export const sharedVolumeKey = 'x-deployd-shared-volume';

/** A service whose compose file asks for start-first. */
interface StartFirstService {
  name: string;
  update: StartFirst;
  /** Why two of its containers cannot run side by side. */
  faults: RefusedFault[];
}

/** The services that ask for start-first. Jobs and services without containers have nothing to replace. */
export function startFirstServices(
  bundle: BundleToStart,
  sharing: ReadonlySet<string> = sharingServices(bundle.services),
): StartFirstService[] {
  const { services, jobs } = bundle;
  return services
    .filter(({ name, text }) => text('deploy', 'update_config', 'order') === 'start-first' && !jobs.has(name))
    .map((service) => {
      const update = updateOf(service);
      return { name: service.name, update, faults: faultsOf(bundle, { service, update, sharing }) };
    });
}

/**
 * The same by the model that compose renders, where every value is known, except for the key that compose leaves out:
 * that is read from the services as written.
 */
export function startFirstOfModel(
  model: unknown,
  { written, jobs }: { written: ServiceLayers; jobs: ReadonlySet<string> },
): StartFirstService[] {
  const resolve = (text: string) => text;
  const services = readServices(serviceLayers([{ root: nodeFromJson(model) }]), resolve);
  const bundle = { files: [], services: services.filter((each) => replicasOf(each) > 0), jobs, resolve };
  return startFirstServices(bundle, sharingServices(readServices(written, resolve)));
}

function sharingServices(services: readonly ReadService[]): ReadonlySet<string> {
  return new Set(services.filter(({ text }) => isTrue.test(text(sharedVolumeKey))).map(({ name }) => name));
}

/** The same as faults of images that the host has: a new container does not get the anonymous volumes of an old one. */
export function imageVolumeFaults(bundle: BundleToStart, images: ServiceImages): RefusedFault[] {
  const asking = new Set(startFirstServices(bundle).map(({ name }) => name));
  return bundle.services
    .filter(({ name }) => asking.has(name))
    .flatMap((service) => {
      const own = valuesAt(service.layers, 'volumes').flatMap(itemsOf);
      const tmpfs = textsOf(valuesAt(service.layers, 'tmpfs').flatMap(itemsOf));
      const mounted = new Set([
        ...own.map((mount) => mountOf(mount).target),
        ...tmpfs.map((entry) => entry.replace(/:.*$/, '')),
      ]);
      const [path] = (images.get(service.name)?.volumes ?? []).filter((each) => !mounted.has(each));
      if (path === undefined) return [];
      return faultOf(bundle, service)(
        service.node('image'),
        `its image has the anonymous volume ${printable(path)}, which is not given to a new container`,
        'mount a tmpfs there',
      );
    });
}

/** The refusal of services that ask for start-first and cannot have it; null without one. */
export function startFirstRefusal(
  services: readonly StartFirstService[],
  ofImages: readonly RefusedFault[] = [],
): Refusal | null {
  const faults = [...services.flatMap((service) => service.faults), ...ofImages];
  return faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults);
}

/** How the containers of a changed service are replaced, and why so. */
export interface PlannedReplacement {
  service: string;
  order: 'start-first' | 'stop-first' | 'not replaced';
  why: string;
}

/** How an apply replaces each service that it changes, or may change. */
export function plannedReplacements(
  bundle: BundleToStart,
  changed: readonly Pick<Change, 'name' | 'only'>[],
): PlannedReplacement[] {
  const asking = new Map(startFirstServices(bundle).map((each) => [each.name, each]));
  return bundle.services
    .filter((service) => changed.some(({ name }) => name === service.name))
    .map((service): PlannedReplacement => {
      const { name } = service;
      if (changed.some((each) => each.name === name && each.only === 'hooks'))
        return {
          service: name,
          order: 'not replaced',
          why: 'only its hooks change; they hold from its next stop or start',
        };
      if (replicasOf(service) === 0) return { service: name, order: 'not replaced', why: 'it has no containers' };
      const found = asking.get(name);
      if (found !== undefined && found.faults.length === 0)
        return { service: name, order: 'start-first', why: 'deploy.update_config.order says so' };
      const [fault] = found?.faults ?? [];
      const why = bundle.jobs.has(name) ? 'a job runs again' : 'without deploy.update_config.order: start-first';
      return { service: name, order: 'stop-first', why: fault?.text ?? why };
    });
}

/** The services that could be replaced start-first, although their compose file does not ask for it. */
export function startFirstCandidates(bundle: BundleToStart): string[] {
  const sharing = sharingServices(bundle.services);
  return bundle.services
    .filter((service) => {
      const isFree = service.text('deploy', 'update_config', 'order') === '' && !bundle.jobs.has(service.name);
      if (!isFree || replicasOf(service) === 0) return false;
      return faultsOf(bundle, { service, update: updateOf(service), sharing }).length === 0;
    })
    .map(({ name }) => name);
}

/** Devices that two containers of a service use while they run side by side. */
export function startFirstNotices(bundle: BundleToStart): RefusedFault[] {
  const names = new Set(startFirstServices(bundle).map(({ name }) => name));
  return bundle.services
    .filter(({ name }) => names.has(name))
    .flatMap((service) => {
      const [key] = ['devices', 'gpus'].filter((each) => service.node(each) !== undefined);
      if (key === undefined) return [];
      return fault(bundle.files, service.node(key), {
        text: `service ${printable(service.name)}: order start-first: two of its containers use ${key} at the same time`,
        cure: 'if only one container can use them, leave deploy.update_config.order out',
      });
    });
}

function updateOf(service: ReadService): StartFirst {
  const read = (key: string) => service.text('deploy', 'update_config', key);
  const replicas = replicasOf(service);
  const written = read('parallelism');
  const parallelism = /^\d+$/.test(written) ? Number(written) : 1;
  return {
    replicas,
    parallelism: parallelism === 0 ? replicas : parallelism,
    delay_s: durationSeconds(read('delay')) ?? 0,
    monitor_s: durationSeconds(read('monitor')) ?? 0,
  };
}

/** Resources that two containers of a service cannot share. */
function faultsOf(
  bundle: BundleToStart,
  { service, update, sharing }: { service: ReadService; update: StartFirst; sharing: ReadonlySet<string> },
): RefusedFault[] {
  const at = faultOf(bundle, service);
  return [
    ...portFaults(bundle, service, update, at),
    ...nameAndAddressFaults(service, at),
    ...namespaceFaults(service, at),
    ...joinFaults(bundle, service, at),
    ...mountFaults(service, sharing.has(service.name), at),
  ];
}

function faultOf({ files }: BundleToStart, { name }: ReadService): FaultAt {
  return (node, what, cure) =>
    fault(files, node, {
      text: `service ${printable(name)}: order start-first is refused: ${what}`,
      cure: `${cure}, or leave deploy.update_config.order out`,
    });
}

type FaultAt = (node: ComposeNode | undefined, what: string, cure: string) => RefusedFault[];

function portFaults(
  { resolve }: BundleToStart,
  { layers }: ReadService,
  { replicas, parallelism }: StartFirst,
  at: FaultAt,
): RefusedFault[] {
  const needed = replicas + Math.min(parallelism, replicas);
  const fixed = publishedPortsOf(layers, resolve).filter(({ first, last }) => last - first + 1 < needed);
  return fixed.slice(0, 1).flatMap(({ node, first, last }) => {
    const text = first === last ? String(first) : `${first}-${last}`;
    const why = first === last ? 'two containers cannot publish it' : `${needed} containers need a port each`;
    return at(
      node,
      `ports ${text} is a fixed port of the host, and ${why}`,
      'publish the port by a proxy that stays, and remove it here',
    );
  });
}

function nameAndAddressFaults({ node, layers }: ReadService, at: FaultAt): RefusedFault[] {
  const networks = valuesAt(layers, 'networks').flatMap(entriesOf);
  const attached = ['ipv4_address', 'ipv6_address', 'link_local_ips', 'mac_address'].flatMap((key) =>
    networks.flatMap(([name, network]) => {
      const value = valueAt(network, key);
      return isWritten(value) ? at(value, `networks.${printable(name)}.${key} is for one container`, 'remove it') : [];
    }),
  );
  const own = ['container_name', 'mac_address'].flatMap((key) =>
    isWritten(node(key)) ? at(node(key), `${key} is for one container`, 'remove it') : [],
  );
  return [...own, ...attached];
}

function namespaceFaults({ node, text, layers }: ReadService, at: FaultAt): RefusedFault[] {
  const mode = text('network_mode');
  if (/^(service|container):/.test(mode))
    return at(
      node('network_mode'),
      `network_mode ${printable(mode)} gives it the ports of another container`,
      'use a network',
    );
  const listens = valuesAt(layers, 'ports').length + valuesAt(layers, 'expose').length > 0;
  return mode === 'host' && listens
    ? at(node('network_mode'), 'network_mode host lets both containers use the ports of the host', 'use a network')
    : [];
}

const byName = 'let it use a network and the name of the service';
const joinCures = {
  network_mode: byName,
  links: byName,
  pid: 'remove pid there',
  ipc: 'remove ipc there',
  volumes_from: 'let it mount the volumes itself',
} as const;

/** Other services that name its container, which they would keep after it is gone. */
function joinFaults({ services, resolve }: BundleToStart, { name }: ReadService, at: FaultAt): RefusedFault[] {
  const others = services.filter((other) => other.name !== name);
  return others.flatMap((other) => {
    const joined = (['network_mode', 'pid', 'ipc'] as const).find((key) => other.text(key) === `service:${name}`);
    const named = (['links', 'volumes_from'] as const).find((key) =>
      valuesAt(other.layers, key)
        .flatMap(itemsOf)
        .some((item) => (resolve(textOf(item) ?? '') ?? '').split(':', 1)[0] === name),
    );
    const key = joined ?? named;
    if (key === undefined) return [];
    const what = `service ${printable(other.name)} uses its container by ${key}`;
    return at(other.node(key), what, joinCures[key]);
  });
}

/** Writable mounts that both generations would share, and anonymous volumes, which a new container does not get. */
function mountFaults({ layers }: ReadService, mayShare: boolean, at: FaultAt): RefusedFault[] {
  const mounts = valuesAt(layers, 'volumes').flatMap(itemsOf);
  const byTarget = new Map(mounts.map((mount) => [mountOf(mount).target, mount]));
  const own = [...byTarget.values()].flatMap((mount) => {
    const { type, source, target } = mountOf(mount);
    if (type === 'volume' && source === '')
      return at(
        mount,
        `the anonymous volume ${printable(target)} is not given to a new container`,
        'mount a tmpfs there',
      );
    if (mayShare || !['volume', 'bind'].includes(type) || isReadOnlyMount(mount)) return [];
    return at(
      mount,
      `both containers would write to ${printable(source)}, which destroys the data of a database`,
      `mount it read-only, or write ${sharedVolumeKey}: true if several containers may write to it`,
    );
  });
  const borrowed = valuesAt(layers, 'volumes_from')
    .flatMap(itemsOf)
    .filter((item) => !mayShare && !/:ro$/.test(textOf(item) ?? ''))
    .flatMap((item) =>
      at(
        item,
        `both containers would write to the volumes of ${printable(textOf(item) ?? '')}`,
        `add :ro, or write ${sharedVolumeKey}: true if several containers may write to them`,
      ),
    );
  return [...own, ...borrowed];
}

/** A mount in its short or long form. */
function mountOf(mount: ComposeNode): { type: string; source: string; target: string } {
  const short = textOf(mount);
  if (short === null) {
    const read = (key: string) => textOf(valueAt(mount, key)) ?? '';
    return { type: read('type'), source: read('source'), target: read('target') };
  }
  const [source = '', target] = short.split(':');
  if (target === undefined) return { type: 'volume', source: '', target: source };
  return { type: /^[./~]/.test(source) ? 'bind' : 'volume', source, target };
}

function isWritten(node: ComposeNode | undefined): boolean {
  return node !== undefined && (node.kind !== 'scalar' || !(node.isNull || node.text === ''));
}
