import type { RefusedFault } from '../../../machines/refusals.ts';
import { printable } from '../../core/text.rules.ts';
import { type ComposeNode, entriesOf, textOf, valueAt } from '../compose/composeNode.rules.ts';
import { isTakenFor, type PublishedPort, publishedPortsOf } from '../compose/networks.rules.ts';
import { type BundleToStart, type EngineMeans, fault, type ReadService } from './bundleToStart.rules.ts';

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
