import { holds, subnetFrom, type Subnet } from './subnet.ts';

/** Addresses that the host reaches by a device. */
export interface Route {
  subnet: Subnet;
  /** As people write it: `10.1.0.0/24`. */
  text: string;
  device: string;
}

/** An engine lets no two of its own networks overlap; the bridges of those that compose keeps are the project's own. */
const enginesBridge = /^(docker\d+|docker_gwbridge|br-[0-9a-f]{12}|podman\d+|cni-\w+)$/;

/** A route to more than this is a default one in effect, as that of a VPN that takes all traffic. */
const widest = { 4: 8, 6: 8 } as const;

/** The kernel's mark of a route that leads nowhere. */
const REJECT = 0x200;

/** The routes in the kernel's two tables (`/proc/net/route`, `/proc/net/ipv6_route`), without the default ones and those of engines. */
export function routesOf(table4: string, table6: string): Route[] {
  const rows4 = rowsOf(table4)
    .slice(1)
    .filter(([, , , flags = '']) => leads(flags));
  const rows6 = rowsOf(table6).filter((row) => leads(row.at(-2) ?? ''));
  const found = [...rows4.map(route4), ...rows6.map(route6)];
  return found.filter(({ subnet, device }) => subnet.prefix >= widest[subnet.family] && !enginesBridge.test(device));
}

/** The first route that has an address with the subnet in common, null where none has. */
export function crossedBy(subnet: Subnet, routes: readonly Route[]): Route | null {
  return routes.find((route) => holds(route.subnet, subnet) || holds(subnet, route.subnet)) ?? null;
}

function rowsOf(table: string): string[][] {
  return table
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.trim().split(/\s+/));
}

function leads(flags: string): boolean {
  return (parseInt(flags, 16) & REJECT) === 0;
}

/** A word of the IPv4 table is little-endian. */
function route4([device = '', destination = '', , , , , , mask = '']: string[]): Route {
  const octets = (destination.match(/../g) ?? []).map((octet) => parseInt(octet, 16)).reverse();
  const prefix = parseInt(mask, 16).toString(2).replaceAll('0', '').length;
  const first = octets.reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
  return {
    subnet: subnetFrom({ family: 4, first, prefix: 32 }, prefix),
    text: `${octets.join('.')}/${prefix}`,
    device,
  };
}

function route6(row: string[]): Route {
  const [destination = '', bits = ''] = row;
  const prefix = parseInt(bits, 16);
  const groups = (destination.match(/.{4}/g) ?? []).map((group) => parseInt(group, 16).toString(16));
  const text = `${groups.join(':').replace(/(:0)+$/, '::')}/${prefix}`;
  const first = BigInt(`0x${destination}`);
  return { subnet: subnetFrom({ family: 6, first, prefix: 128 }, prefix), text, device: row.at(-1) ?? '' };
}
