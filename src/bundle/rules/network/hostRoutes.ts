import { contains, subnetFrom, type Subnet } from './subnet.ts';

/** A subnet that the host reaches through a network device. */
export interface Route {
  subnet: Subnet;
  /** The subnet as text: `10.1.0.0/24`. */
  cidr: string;
  device: string;
}

/** Bridges of engines are ignored: an engine never lets its own networks overlap. */
const engineBridge = /^(docker\d+|docker_gwbridge|br-[0-9a-f]{12}|podman\d+|cni-\w+)$/;

/** A shorter prefix is a default route in effect, such as that of a VPN for all traffic. */
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
