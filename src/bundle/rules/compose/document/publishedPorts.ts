import { itemsOf, textOf, valueAt, valuesAt, type ComposeNode } from './composeNode.ts';

/** A port of the host that a service publishes, or a range of which the engine takes a free one. */
export interface PublishedPort {
  protocol: string;
  /** '' for every address of the host. */
  address: string;
  first: number;
  last: number;
  /** The entry of the compose file. */
  node: ComposeNode;
}

/**
 * The ports of the host that the layers of a service publish, each once; one that the engine may choose freely, and one
 * that `resolve` gives no text for, is left out. Two ranges of one length are pairs of ports.
 */
export function publishedPortsOf(
  layers: readonly ComposeNode[],
  resolve: (text: string) => string | null,
): PublishedPort[] {
  const entries = valuesAt(layers, 'ports').flatMap(itemsOf);
  const found = entries.flatMap((node) => partsOf(node, resolve).flatMap((parts) => portsOf(parts, node)));
  return [...new Map(found.map((each) => [each.key, each.port])).values()];
}

interface PortParts {
  address: string;
  published: string;
  target: string;
  protocol: string;
}

const shortForm =
  /^(?:(?<address>\[[\da-f:.]+\]|[\d.]+):)?(?<published>\d+(?:-\d+)?):(?<target>\d+(?:-\d+)?)(?:\/(?<protocol>\w+))?$/i;

function partsOf(node: ComposeNode, resolve: (text: string) => string | null): PortParts[] {
  const read = (value: ComposeNode | undefined) => (value === undefined ? '' : resolve(textOf(value) ?? ''));
  if (node.kind === 'map') {
    const [published, target] = [read(valueAt(node, 'published')), read(valueAt(node, 'target'))];
    const [address, protocol] = [read(valueAt(node, 'host_ip')), read(valueAt(node, 'protocol'))];
    if (published === null || target === null || address === null || protocol === null) return [];
    return [{ address, published, target, protocol: protocol || 'tcp' }];
  }
  const { groups } = shortForm.exec(read(node) ?? '') ?? {};
  if (!groups) return [];
  const { address = '', published = '', target = '', protocol = 'tcp' } = groups;
  return [{ address: address.replace(/^\[|\]$/g, ''), published, target, protocol }];
}

function portsOf({ address, published, target, protocol }: PortParts, node: ComposeNode) {
  const [host, container] = [rangeOf(published), rangeOf(target)];
  if (host === null || container === null || host.first === 0) return [];
  const port = { protocol: protocol.toLowerCase(), address, node };
  const keyOf = (first: number, to: number) => `${port.protocol} ${address} ${first} ${to}`;
  const isPaired = container.last > container.first && host.last - host.first === container.last - container.first;
  if (!isPaired) return [{ key: `${keyOf(host.first, container.first)} ${host.last}`, port: { ...port, ...host } }];
  return Array.from({ length: host.last - host.first + 1 }, (_, at) => {
    const first = host.first + at;
    return { key: `${keyOf(first, container.first + at)} ${first}`, port: { ...port, first, last: first } };
  });
}

function rangeOf(text: string): { first: number; last: number } | null {
  const [, from, to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  const [first, last] = [Number(from), Number(to)];
  return first <= last && last <= 65_535 ? { first, last } : null;
}
