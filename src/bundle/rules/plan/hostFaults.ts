import type { RefusedFault } from '../../../../machines/refusals.ts';
import { printable } from '../../../protocol/printable.ts';
import {
  entriesOf,
  itemsOf,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
  type ComposeFile,
  type ComposeNode,
} from '../compose/document/composeNode.ts';
import { publishedPortsOf, type PublishedPort } from '../compose/document/publishedPorts.ts';
import { effectiveValue } from '../compose/document/serviceLayers.ts';
import { bytesOf } from '../compose/policy/quantities.ts';
import { contains, formatAddress, parseAddress, parseSubnet, type Subnet } from '../network/subnet.ts';
import { isTakenFor, type TakenPort } from '../network/takenPorts.ts';
import type { ImageAccounts } from './namedUsers.ts';
import { volumeOf } from './references.ts';
import { placeOf, type ReadService, type ResolveText } from './writtenText.ts';

/** What an engine can do, and what of the host others use already. */
export interface EngineMeans {
  isPodman: boolean;
  /** Of Docker's API, such as `1.51`; '' when it is not known. */
  apiVersion: string;
  /** 0 when it is not known. */
  cpus: number;
  /** 0 when it is not known. */
  memoryBytes: number;
  /** In the words of the kernel, `x86_64`; null when it is not known. */
  architecture: string | null;
  /** Whether the engine's settings name addresses of IPv6 for networks without a subnet. */
  hasIpv6Pool: boolean;
  /** The networks that do not belong to the project, with their subnets. */
  networks: readonly { name: string; subnets: readonly string[] }[];
  /** Engine names of all networks and volumes, those of the project too; null where more may be there than the engine lists. */
  names: { networks: ReadonlySet<string> | null; volumes: ReadonlySet<string> };
  /** The ports that containers outside the project and programs of the host use. */
  takenPorts: readonly TakenPort[];
  /** The users of images, by reference, where they decide whether a service starts; absent where nobody asks. */
  accounts?: ReadonlyMap<string, ImageAccounts>;
}

/** A bundle as its host will read it. */
export interface BundleToStart {
  files: readonly ComposeFile[];
  /** Those that have containers, without the replicas of none. */
  services: readonly ReadService[];
  /** Names of services that end, so that what they use is free again. */
  jobs: ReadonlySet<string>;
  resolve: ResolveText;
}

/** Docker's least memory of a container. */
const leastMemoryBytes = 6 * 2 ** 20;

/**
 * What `up` will surely refuse: of any host with Docker and compose where `engine` is null, else of the host of this engine. What
 * only Docker refuses is left out for Podman.
 */
export function hostFaults(bundle: BundleToStart, engine: EngineMeans | null): RefusedFault[] {
  const ofDocker = [readOnlyFaults, memoryFaults, addressFaults];
  const ofAny = [portFaults];
  const ofEngine = engine === null ? [] : engineFaults(bundle, engine);
  const common = engine?.isPodman === true ? ofAny : [...ofDocker, ...ofAny];
  return [...common.flatMap((faultsOf) => faultsOf(bundle)), ...ofEngine];
}

function engineFaults(bundle: BundleToStart, engine: EngineMeans): RefusedFault[] {
  return [
    ...(engine.isPodman ? [] : [...cpuFaults(bundle, engine), ...subnetFaults(bundle, engine)]),
    ...startIntervalFaults(bundle, engine),
    ...ipv6Faults(bundle, engine),
    ...takenPortFaults(bundle, engine),
    ...missingNames(bundle, engine),
  ];
}

/** compose copies what is no file of the bundle into the container, which must be writable for that. */
function readOnlyFaults({ files, services }: BundleToStart): RefusedFault[] {
  const copied = (section: 'configs' | 'secrets') => {
    const all = files.flatMap(({ root }) => entriesOf(valueAt(root, section)));
    return new Set(
      all.filter(([, one]) => valueAt(one, 'environment') ?? valueAt(one, 'content')).map(([name]) => name),
    );
  };
  const names = { configs: copied('configs'), secrets: copied('secrets') };
  return services
    .filter(({ text }) => isTrue.test(text('read_only')))
    .flatMap((service) =>
      (['configs', 'secrets'] as const).flatMap((section) => {
        const used = valuesAt(service.layers, section).flatMap(itemsOf);
        const hit = used.find((one) => names[section].has(textOf(valueAt(one, 'source') ?? one) ?? ''));
        if (hit === undefined) return [];
        const name = textOf(valueAt(hit, 'source') ?? hit) ?? '';
        return fault(files, hit, {
          text: `service ${printable(service.name)}: ${section} ${printable(name)} cannot be copied into a container that is read_only`,
          cure: 'leave read_only out, supply the value in `environment`, or put what is no secret into a file of the bundle (`file`)',
        });
      }),
    );
}

const isTrue = /^(true|yes|on|y)$/i;

function memoryFaults({ files, services }: BundleToStart): RefusedFault[] {
  return services.flatMap((service) => {
    const { name, node } = service;
    const { limit, limitKeys } = memoryLimitOf(service);
    const reserved = bytesOf(
      service.text('mem_reservation') || service.text('deploy', 'resources', 'reservations', 'memory'),
    );
    const swap = bytesOf(service.text('memswap_limit'));
    const at = (keys: string[], text: string, cure: string) =>
      fault(files, node(...keys), { text: `service ${printable(name)}: ${keys.join('.')} ${text}`, cure });
    const least = 'Docker gives a container at least 6 MiB';
    if (limit !== null && limit > 0 && limit < leastMemoryBytes)
      return at(limitKeys, `is ${limit} bytes, and ${least}`, 'write a size with its unit, such as 64m');
    if (limit !== null && limit > 0 && reserved !== null && reserved > limit)
      return at(limitKeys, 'is less than what is reserved', 'raise the limit, or reserve less');
    if (limit !== null && limit > 0 && swap !== null && swap > 0 && swap < limit)
      return at(
        ['memswap_limit'],
        'is less than the memory limit, which it includes',
        'write memory and swap together',
      );
    const isUnlimited = service.node(...limitKeys) === undefined;
    return isUnlimited && swap !== null && swap > 0
      ? at(['memswap_limit'], 'needs a mem_limit', 'add mem_limit, or leave it out')
      : [];
  });
}

/** The memory limit of a service in bytes; null without one, or where it is not known yet. */
export function memoryLimitOf({ node, text }: ReadService): { limit: number | null; limitKeys: string[] } {
  const limitKeys = node('mem_limit') === undefined ? ['deploy', 'resources', 'limits', 'memory'] : ['mem_limit'];
  return { limit: bytesOf(text(...limitKeys)), limitKeys };
}

function cpuFaults({ files, services }: BundleToStart, { cpus }: EngineMeans): RefusedFault[] {
  return services.flatMap(({ name, node, text }) => {
    const keys = node('cpus') === undefined ? ['deploy', 'resources', 'limits', 'cpus'] : ['cpus'];
    const asked = Number(text(...keys));
    if (cpus === 0 || !(asked > cpus)) return [];
    return fault(files, node(...keys), {
      text: `service ${printable(name)}: ${keys.join('.')} ${asked} is more than the ${cpus} CPUs of this host`,
      cure: `write ${cpus} at most, or leave it out`,
    });
  });
}

function startIntervalFaults({ files, services }: BundleToStart, engine: EngineMeans): RefusedFault[] {
  if (engine.apiVersion === '' || isSince(engine.apiVersion, 44)) return [];
  return services.flatMap(({ name, node, text }) => {
    const interval = node('healthcheck', 'start_interval');
    return interval === undefined || isTrue.test(text('healthcheck', 'disable'))
      ? []
      : fault(files, interval, {
          text: `service ${printable(name)}: healthcheck.start_interval needs Docker 25 or newer, and the engine of this host is older`,
          cure: 'leave it out, or install a newer engine on the host',
        });
  });
}

/** Whether this is a version 1.`minor` of Docker's API, or a later one. */
export function isSince(apiVersion: string, minor: number): boolean {
  const [major = 0, own = 0] = apiVersion.split('.').map(Number);
  return major > 1 || (major === 1 && own >= minor);
}

function portFaults({ files, services, jobs, resolve }: BundleToStart): RefusedFault[] {
  const used: { service: string; port: PublishedPort }[] = [];
  return services.filter(publishesPorts).flatMap((service) => {
    const { name } = service;
    const count = replicasOf(service);
    return publishedPortsOf(service.layers, resolve).flatMap((port) => {
      const [text, size] = [formatPort(port), port.last - port.first + 1];
      if (count > size)
        return fault(files, port.node, {
          text: `service ${printable(name)}: ports ${text} ${size === 1 ? 'is one port' : `are ${size} ports`} for ${count} containers`,
          cure: `publish a range of ${count} ports, let the engine choose (the container's port alone), or ask for fewer containers`,
        });
      if (size > 1) return [];
      const other = used.find((each) => clash(port, each.port) && !(each.service !== name && jobs.has(each.service)));
      used.push({ service: name, port });
      return other === undefined || (other.service !== name && jobs.has(name))
        ? []
        : fault(files, port.node, {
            text: `service ${printable(name)}: ports ${text} is published by ${other.service === name ? 'another entry' : `service ${printable(other.service)}`} too`,
            cure: 'publish another port of the host',
          });
    });
  });
}

function takenPortFaults({ files, services, resolve }: BundleToStart, { takenPorts }: EngineMeans): RefusedFault[] {
  const bindsElsewhere = services.length > 0 && files.some(({ root }) => hasBindingAddress(root));
  return services.filter(publishesPorts).flatMap((service) =>
    publishedPortsOf(service.layers, resolve).flatMap((port) => {
      if (port.first !== port.last || (port.address === '' && bindsElsewhere)) return [];
      const taken = takenPorts.find((each) => clash(port, { ...each, first: each.port }));
      return taken === undefined
        ? []
        : fault(files, port.node, {
            text: `service ${printable(service.name)}: ports ${formatPort(port)} is in use on this host, by ${printable(taken.user)}`,
            cure: 'stop what uses it, or publish another port',
          });
    }),
  );
}

/** Whether a network binds ports that name no address to one of its own. */
function hasBindingAddress(root: ComposeNode): boolean {
  return entriesOf(valueAt(root, 'networks')).some(([, network]) =>
    entriesOf(valueAt(network, 'driver_opts')).some(([key]) => key.includes('host_binding')),
  );
}

/** Ports count only on a network of the service's own. */
function publishesPorts({ node }: ReadService): boolean {
  const mode = node('network_mode');
  return mode === undefined || /^(bridge|default)$/.test(textOf(mode) ?? '');
}

type BoundPort = Pick<PublishedPort, 'protocol' | 'address' | 'first'>;

function clash(wanted: BoundPort, taken: BoundPort): boolean {
  const isSame = wanted.protocol === taken.protocol && wanted.first === taken.first;
  return isSame && isTakenFor(wanted.address, taken.address);
}

function formatPort({ address, protocol, first, last }: PublishedPort): string {
  const host = address.includes(':') ? `[${address}]:` : address && `${address}:`;
  return `${host}${first === last ? first : `${first}-${last}`}${protocol === 'tcp' ? '' : `/${protocol}`}`;
}

/** How many containers a service has; 1 where it is not known yet. */
export function replicasOf({ node, text }: ReadService): number {
  const keys = node('scale') === undefined ? ['deploy', 'replicas'] : ['scale'];
  const written = text(...keys);
  return /^\d+$/.test(written) ? Number(written) : 1;
}

/** A network of the bundle that the engine makes, with its subnets. */
interface MadeNetwork {
  key: string;
  node: ComposeNode;
  isBridge: boolean;
  /** Null where another program gives the addresses, or where they are not known yet. */
  subnets: readonly Subnet[] | null;
  gateways: readonly string[];
  hasIpv6: boolean;
}

function madeNetworks({ files, resolve }: BundleToStart): MadeNetwork[] {
  const roots = files.map(({ root }) => valueAt(root, 'networks'));
  const keys = [...new Set(roots.flatMap((networks) => entriesOf(networks).map(([key]) => key)))];
  return keys.flatMap((key) => {
    const layers = valuesAt(roots, key);
    const [node] = layers;
    const read = (...path: string[]) => resolve(textOf(effectiveValue(layers, ...path)) ?? '');
    const external = effectiveValue(layers, 'external');
    if (node === undefined || (external && !/^(false|no|off|n)$/i.test(textOf(external) ?? ''))) return [];
    const entries = valuesAt(layers, 'ipam', 'config').flatMap(itemsOf);
    const texts = (name: string) => entries.flatMap((entry) => textOf(valueAt(entry, name)) ?? []);
    const parsed = texts('subnet').map((text) => parseSubnet(resolve(text) ?? ''));
    const known = parsed.filter((each) => each !== null);
    const hasOwnAddresses = /^(default)?$/.test(read('ipam', 'driver') ?? '-') && known.length === parsed.length;
    return {
      key,
      node,
      isBridge: /^(bridge)?$/.test(read('driver') ?? '-'),
      subnets: hasOwnAddresses ? known : null,
      gateways: texts('gateway').map((text) => resolve(text) ?? ''),
      hasIpv6: isTrue.test(read('enable_ipv6') ?? ''),
    };
  });
}

function ipv6Faults(bundle: BundleToStart, engine: EngineMeans): RefusedFault[] {
  if (engine.isPodman || engine.apiVersion === '' || isSince(engine.apiVersion, 46) || engine.hasIpv6Pool) return [];
  return usedNetworks(bundle)
    .filter(({ hasIpv6, isBridge, subnets }) => hasIpv6 && isBridge && subnets?.every(({ family }) => family === 4))
    .flatMap(({ key, node }) =>
      fault(bundle.files, node, {
        text: `network ${printable(key)}: enable_ipv6 needs a subnet of IPv6: the engine of this host has no addresses of its own for it`,
        cure: 'name a subnet below fd00::/8 under ipam.config, give the engine an IPv6 pool in default-address-pools, or install Docker 27 or newer',
      }),
    );
}

function subnetFaults(bundle: BundleToStart, { networks }: EngineMeans): RefusedFault[] {
  const made = usedNetworks(bundle).filter(({ isBridge }) => isBridge);
  return made.flatMap(({ key, node, subnets }) => {
    const overlapping = networks.find(({ subnets: others }) =>
      others.some((other) => subnets?.some((own) => overlap(own, parseSubnet(other)))),
    );
    return overlapping === undefined
      ? []
      : fault(bundle.files, node, {
          text: `network ${printable(key)}: its subnet overlaps that of network ${printable(overlapping.name)}, which is one outside the project`,
          cure: 'choose another subnet, or leave ipam.config out',
        });
  });
}

function overlap(one: Subnet, other: Subnet | null): boolean {
  return other !== null && (contains(one, other) || contains(other, one));
}

/** Networks that a service with containers is on, `default` among them. */
function usedNetworks(bundle: BundleToStart): MadeNetwork[] {
  const used = new Set(bundle.services.filter(publishesPorts).flatMap(networksOf));
  return madeNetworks(bundle).filter(({ key }) => used.has(key));
}

function networksOf({ layers }: ReadService): string[] {
  const values = valuesAt(layers, 'networks');
  const names = values.flatMap((value) =>
    value.kind === 'map' ? entriesOf(value).map(([key]) => key) : textsOf(itemsOf(value)),
  );
  return names.length === 0 ? ['default'] : names;
}

/** Addresses that the engine cannot give to a container. */
function addressFaults(bundle: BundleToStart): RefusedFault[] {
  const { files, services, jobs, resolve } = bundle;
  const made = new Map(madeNetworks(bundle).map((network) => [network.key, network]));
  const users = new Map<string, string>();
  return services.flatMap((service) => {
    const names = networksOf(service);
    return names.flatMap((name) =>
      ['ipv4_address', 'ipv6_address'].flatMap((key) => {
        const node = service.node('networks', name, key);
        const address = parseAddress(resolve(textOf(node) ?? '') ?? '');
        const network = made.get(name);
        if (address === null || network === undefined) return [];
        const text = formatAddress(address);
        const at = (message: string, cure: string) =>
          fault(files, node, {
            text: `service ${printable(service.name)}: networks.${printable(name)}.${key} ${text} ${message}`,
            cure,
          });
        const user = users.get(`${name} ${text}`);
        if (!jobs.has(service.name)) users.set(`${name} ${text}`, service.name);
        if (user !== undefined && !jobs.has(service.name))
          return at(`is that of service ${printable(user)} too`, 'give each an address of its own');
        if (replicasOf(service) > 1) return at('is one address for several containers', 'leave it out');
        return unusableAddress(address, network).flatMap(([message, cure]) => at(message, cure));
      }),
    );
  });
}

function unusableAddress(address: Subnet, { subnets, gateways, isBridge }: MadeNetwork): [string, string][] {
  if (subnets === null) return [];
  const own = subnets.filter(({ family }) => family === address.family);
  if (own.length === 0 && !isBridge) return [];
  if (own.length === 0) return [['needs a subnet, which its network does not name', 'name one under ipam.config']];
  if (!own.some((subnet) => contains(subnet, address)))
    return [['is outside the subnet of its network', 'choose an address of the subnet']];
  return isBridge && gateways.includes(formatAddress(address))
    ? [['is that of the gateway', 'choose another address of the subnet']]
    : [];
}

/** Networks and volumes from outside the project that are not there. */
function missingNames({ files, services, resolve }: BundleToStart, { names }: EngineMeans): RefusedFault[] {
  const used = {
    networks: new Set(services.flatMap(networksOf)),
    volumes: new Set(services.flatMap(({ layers }) => valuesAt(layers, 'volumes').flatMap(itemsOf).flatMap(volumeOf))),
  };
  return (['networks', 'volumes'] as const).flatMap((section) => {
    const roots = files.map(({ root }) => valueAt(root, section));
    return [...used[section]].flatMap((key) => {
      const layers = valuesAt(roots, key);
      const external = effectiveValue(layers, 'external');
      if (external === undefined || !isExternal(external)) return [];
      const written = valueAt(external, 'name') ?? effectiveValue(layers, 'name');
      const name = written === undefined ? key : resolve(textOf(written) ?? '');
      if (name === null || isId.test(name) || (names[section]?.has(name) ?? true)) return [];
      const kind = section.slice(0, -1);
      return fault(files, external, {
        text: `${kind} ${printable(key)}: external, and this host has no ${kind} ${printable(name)}`,
        cure: `make it (\`docker ${kind} create\`), or leave external out`,
      });
    });
  });
}

/** A text that compose may find a network by without its name. */
const isId = /^([0-9a-f]{12,})?$/;

function isExternal(external: ComposeNode): boolean {
  return external.kind === 'map' || isTrue.test(textOf(external) ?? '');
}

function fault(
  files: readonly ComposeFile[],
  node: ComposeNode | undefined,
  { text, cure }: RefusedFault,
): RefusedFault[] {
  return [{ text: `${text}${placeOf(files, node)}`, cure }];
}
