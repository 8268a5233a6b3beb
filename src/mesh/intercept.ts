import { BlockList, isIP } from 'node:net';
import { listed, record, textOf } from './json.ts';
import { MeshTrouble } from './trouble.ts';

/** Where a connection is wanted to, and the name of the service to fall back on. */
export interface Target {
  host: string;
  port: number;
  service: string;
}

/** What of a service says whether a target means it: its name, and its `intercept.v1` configuration as it came. */
export interface Intercept {
  name: string;
  intercept: unknown;
}

/**
 * The service whose intercept fits the target best (the host by name, then the longest suffix or network), else the one
 * of the name. Throws a MeshTrouble of kind `notGranted` when there is none.
 */
export function serviceFor<T extends Intercept>(services: T[], target: Target): T {
  const ranked = services
    .map((service) => ({ service, rank: rankOf(service.intercept, target) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank);
  const found = ranked[0]?.service ?? services.find(({ name }) => name === target.service);
  if (found === undefined) {
    const missing = `neither ${target.host}:${target.port} nor the service ${target.service} is granted to the identity`;
    throw new MeshTrouble('notGranted', missing);
  }
  return found;
}

/** How precisely an intercept fits, 0 when it does not. */
function rankOf(intercept: unknown, { host, port }: Target): number {
  const { addresses, portRanges, protocols } = record(intercept);
  if (!listed(protocols).includes('tcp')) return 0;
  if (!listed(portRanges).some((range) => isWithin(range, port))) return 0;
  return listed(addresses)
    .map((address) => rankOfAddress(textOf(address).toLowerCase(), host.toLowerCase()))
    .reduce((best, rank) => Math.max(best, rank), 0);
}

const EXACT = 1000;

function rankOfAddress(address: string, host: string): number {
  if (address === host) return EXACT;
  if (address.startsWith('*.')) return host.endsWith(address.slice(1)) ? address.length : 0;
  const [network = '', bits = ''] = address.split('/');
  const family = isIP(network);
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    return 0;
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  const block = new BlockList();
  block.addSubnet(network, Number(bits), kind);
  return block.check(host, kind) ? Number(bits) + 1 : 0;
}

function isWithin(range: unknown, port: number): boolean {
  const { low, high } = record(range);
  return typeof low === 'number' && typeof high === 'number' && low <= port && port <= high;
}
