import { BlockList, isIP } from 'node:net';
import { asList, asRecord, asText, MeshError } from './meshError.ts';

/** The target of a dial, and the service name to fall back on. */
export interface Target {
  host: string;
  port: number;
  service: string;
}

/** The name of a service and its unparsed `intercept.v1` configuration. */
export interface Intercept {
  name: string;
  intercept: unknown;
}

/**
 * The service whose intercept matches the target best (host name, then longest suffix or network), else the service
 * with the target's name. Throws a MeshError of kind `notGranted` if there is none.
 */
export function findService<T extends Intercept>(services: T[], target: Target): T {
  const ranked = services
    .map((service) => ({ service, rank: rankOf(service.intercept, target) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((a, b) => b.rank - a.rank);
  const found = ranked[0]?.service ?? services.find(({ name }) => name === target.service);
  if (found === undefined) {
    const missing = `neither ${target.host}:${target.port} nor the service ${target.service} is granted to the identity`;
    throw new MeshError('notGranted', missing);
  }
  return found;
}

/** How precisely an intercept matches, 0 when it does not. */
function rankOf(intercept: unknown, { host, port }: Target): number {
  const { addresses, portRanges, protocols } = asRecord(intercept);
  if (!asList(protocols).includes('tcp')) return 0;
  if (!asList(portRanges).some((range) => isWithin(range, port))) return 0;
  return asList(addresses)
    .map((address) => rankOfAddress(asText(address).toLowerCase(), host.toLowerCase()))
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
  const { low, high } = asRecord(range);
  return typeof low === 'number' && typeof high === 'number' && low <= port && port <= high;
}
