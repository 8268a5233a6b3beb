import type { RefusedFault } from '../../../machines/refusals.ts';
import { printable } from '../../core/text.rules.ts';
import { type ComposeNode, entriesOf, itemsOf, textOf, valueAt, valuesAt } from '../compose/composeNode.rules.ts';
import { isTakenFor, type PublishedPort, publishedPortsOf } from '../compose/networks.rules.ts';
import { bytesOf } from '../policy/quantities.rules.ts';
import { type BundleToStart, type EngineMeans, fault, isTrue, type ReadService } from './bundleToStart.rules.ts';

/** Docker's least memory of a container. */
const leastMemoryBytes = 6 * 2 ** 20;

/** compose copies what is not a file of the bundle into the container, which must be writable for that. */
export function readOnlyFaults({ files, services }: BundleToStart): RefusedFault[] {
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
          cure: 'leave read_only out, supply the value in `environment`, or put values that are not secret into a file of the bundle (`file`)',
        });
      }),
    );
}

export function memoryFaults({ files, services }: BundleToStart): RefusedFault[] {
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

export function cpuFaults({ files, services }: BundleToStart, { cpus }: EngineMeans): RefusedFault[] {
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

export function startIntervalFaults({ files, services }: BundleToStart, engine: EngineMeans): RefusedFault[] {
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

export function portFaults({ files, services, jobs, resolve }: BundleToStart): RefusedFault[] {
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

export function takenPortFaults(
  { files, services, resolve }: BundleToStart,
  { takenPorts }: EngineMeans,
): RefusedFault[] {
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

/** Whether a network binds ports without an address to one of its addresses. */
function hasBindingAddress(root: ComposeNode): boolean {
  return entriesOf(valueAt(root, 'networks')).some(([, network]) =>
    entriesOf(valueAt(network, 'driver_opts')).some(([key]) => key.includes('host_binding')),
  );
}

/** Ports count only on a network of the service's own. */
export function publishesPorts({ node }: ReadService): boolean {
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
