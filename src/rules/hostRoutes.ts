import { holds, subnetFrom, type Subnet } from './subnet.ts';

/** Addresses that the host reaches by a device. */
export interface Route {
  subnet: Subnet;
  /** As people write it: `10.1.0.0/24`. */
  text: string;
  device: string;
}

/** An engine lets no two of its own networks overlap; the bridges of those that compose keeps are the project's own. */
const enginesBridge = /^(docker\d+|br-[0-9a-f]{12}|podman\d+|cni-\w+)$/;

/** The routes in the kernel's two tables (`/proc/net/route`, `/proc/net/ipv6_route`), without the default ones and those of engines. */
export function routesOf(table4: string, table6: string): Route[] {
  const found = [...rowsOf(table4).slice(1).map(route4), ...rowsOf(table6).map(route6)];
  return found.filter(({ subnet, device }) => subnet.prefix > 0 && !enginesBridge.test(device));
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
