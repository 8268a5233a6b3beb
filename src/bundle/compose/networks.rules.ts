import { type ComposeNode, itemsOf, textOf, valueAt, valuesAt } from './composeNode.rules.ts';

/** A CIDR subnet. */
export interface Subnet {
  family: 4 | 6;
  /** Its first address as a number. */
  first: bigint;
  prefix: number;
}

const addressBits = { 4: 32, 6: 128 } as const;

/** Parses CIDR notation in the form that all tools parse alike; null for any other text. */
export function parseSubnet(text: string): Subnet | null {
  const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const found = parseAddress(address);
  if (found === null || Number(bits) > addressBits[found.family]) return null;
  return subnetFrom(found, Number(bits));
}

/** The subnet with this prefix length that contains the address. */
export function subnetFrom({ family, first }: Subnet, prefix: number): Subnet {
  const hostBits = BigInt(addressBits[family] - prefix);
  return { family, first: (first >> hostBits) << hostBits, prefix };
}

/** Parses an address as a subnet of one address; null for any text that not all tools parse alike. */
export function parseAddress(text: string): Subnet | null {
  if (/^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/.test(text)) {
    return { family: 4, first: toBigInt(text.split('.').map(Number), 8n), prefix: 32 };
  }
  const groups = parseIpv6Groups(text);
  return groups && { family: 6, first: toBigInt(groups, 16n), prefix: 128 };
}

/** True when `outer` contains every address of `inner`. */
export function contains(outer: Subnet, inner: Subnet): boolean {
  if (outer.family !== inner.family || outer.prefix > inner.prefix) return false;
  return subnetFrom(inner, outer.prefix).first === outer.first;
}

/** The first address as text, without abbreviations. */
export function formatAddress({ family, first }: Subnet): string {
  const groupBits = family === 4 ? 8n : 16n;
  const count = family === 4 ? 4 : 8;
  const mask = (1n << groupBits) - 1n;
  const groups = Array.from({ length: count }, (_, index) => (first >> (groupBits * BigInt(count - 1 - index))) & mask);
  return family === 4 ? groups.join('.') : groups.map((group) => group.toString(16)).join(':');
}

function parseIpv6Groups(text: string): number[] | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - head.length - tail.length;
  const isWhole = halves.length === 1 ? missing === 0 : missing > 0;
  const groups = [...head, ...Array<string>(Math.max(0, missing)).fill('0'), ...tail];
  return isWhole && groups.every((group) => /^[\da-f]{1,4}$/i.test(group))
    ? groups.map((group) => parseInt(group, 16))
    : null;
}

function toBigInt(parts: number[], bits: bigint): bigint {
  return parts.reduce((sum, part) => (sum << bits) | BigInt(part), 0n);
}

/** A subnet that the host reaches through a network device. */
export interface Route {
  subnet: Subnet;
  /** The subnet as text: `10.1.0.0/24`. */
  cidr: string;
  device: string;
}

/** Bridges of engines are ignored: an engine never lets its own networks overlap. */
const engineBridge = /^(docker\d+|docker_gwbridge|br-[0-9a-f]{12}|podman\d+|cni-\w+)$/;

/** A shorter prefix is a default route in effect, such as the route of a VPN for all traffic. */
const minPrefix = { 4: 8, 6: 8 } as const;

/** The kernel's flag of an unreachable route. */
const RTF_REJECT = 0x200;

/** Parses `/proc/net/route` and `/proc/net/ipv6_route`; default routes and bridges of engines are left out. */
export function parseRoutes(table4: string, table6: string): Route[] {
  const rows4 = rowsOf(table4)
    .slice(1)
    .filter(([, , , flags = '']) => isUsable(flags));
  const rows6 = rowsOf(table6).filter((row) => isUsable(row.at(-2) ?? ''));
  const found = [...rows4.map(parseIpv4Route), ...rows6.map(parseIpv6Route)];
  return found.filter(({ subnet, device }) => subnet.prefix >= minPrefix[subnet.family] && !engineBridge.test(device));
}

/** The first route that overlaps the subnet, null without one. */
export function overlappingRoute(subnet: Subnet, routes: readonly Route[]): Route | null {
  return routes.find((route) => contains(route.subnet, subnet) || contains(subnet, route.subnet)) ?? null;
}

function rowsOf(table: string): string[][] {
  return table
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.trim().split(/\s+/));
}

function isUsable(flags: string): boolean {
  return (parseInt(flags, 16) & RTF_REJECT) === 0;
}

/** The words of the IPv4 table are little-endian. */
function parseIpv4Route([device = '', destination = '', , , , , , mask = '']: string[]): Route {
  const octets = (destination.match(/../g) ?? []).map((octet) => parseInt(octet, 16)).reverse();
  const prefix = parseInt(mask, 16).toString(2).replaceAll('0', '').length;
  const first = octets.reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
  return {
    subnet: subnetFrom({ family: 4, first, prefix: 32 }, prefix),
    cidr: `${octets.join('.')}/${prefix}`,
    device,
  };
}

function parseIpv6Route(row: string[]): Route {
  const [destination = '', bits = ''] = row;
  const prefix = parseInt(bits, 16);
  const groups = (destination.match(/.{4}/g) ?? []).map((group) => parseInt(group, 16).toString(16));
  const cidr = `${groups.join(':').replace(/(:0)+$/, '::')}/${prefix}`;
  const first = BigInt(`0x${destination}`);
  return { subnet: subnetFrom({ family: 6, first, prefix: 128 }, prefix), cidr, device: row.at(-1) ?? '' };
}

/** A port of this host that is in use. */
export interface TakenPort {
  protocol: string;
  /** `0.0.0.0` or `::` for every address. */
  address: string;
  port: number;
  /** The user of it: `container db`, `a program on this host`. */
  user: string;
}

const listening = '0A';
/** State of a UDP socket without a peer. */
const unconnected = '07';
/** From here on the kernel gives ports to sockets that ask for none, so that their use may end at any time. */
const firstEphemeralPort = 32_768;

/** The sockets that listen, in a table such as `/proc/net/tcp6`; of UDP those below the ports that the kernel hands out. */
export function parseListeners(table: string, protocol: 'tcp' | 'udp'): TakenPort[] {
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/);
    const [, hex = '', portHex = ''] = /^([\dA-F]{8}|[\dA-F]{32}):([\dA-F]{4})$/.exec(local) ?? [];
    const port = parseInt(portHex, 16);
    const isListening = protocol === 'tcp' ? state === listening : state === unconnected && port < firstEphemeralPort;
    return isListening && port > 0 ? [{ protocol, address: addressOf(hex), port, user: 'a program on this host' }] : [];
  });
}

/**
 * The kernel writes each four bytes of an address in the order of the machine, which is little endian on all that we
 * support.
 */
function addressOf(hex: string): string {
  const bytes = [...hex.matchAll(/../g)].map(([byte]) => byte);
  const words = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.slice(4 * at, 4 * at + 4).toReversed());
  const ordered = words.flat().join('');
  const mapped = /^0{20}ffff(.{8})$/i.exec(ordered)?.[1];
  const first = BigInt(`0x${mapped ?? ordered}`);
  const family: Subnet['family'] = mapped !== undefined || ordered.length === 8 ? 4 : 6;
  if (family === 6 && first === 0n) return '::';
  return formatAddress({ family, first, prefix: family === 4 ? 32 : 128 });
}

/**
 * Whether the engine cannot bind an address ('' for every address) while another socket has the same port. A socket on `::` is
 * taken for one that accepts IPv4 too, which it is by default, but where a single address is asked for.
 */
export function isTakenFor(wanted: string, taken: string): boolean {
  const [isWanted6, isTaken6] = [wanted.includes(':'), taken.includes(':')];
  const isAny = taken === '' || taken === '0.0.0.0' || taken === '::';
  if (wanted === '') return !isTaken6 || isAny;
  if (wanted === '0.0.0.0') return !isTaken6 || isAny;
  if (isWanted6) return taken === wanted || (isTaken6 && (isAny || wanted === '::'));
  return taken === wanted || taken === '0.0.0.0' || taken === '';
}

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
