import { BlockList, isIP } from 'node:net';
import { asList, asRecord, asText, parseJson } from '../core/json.rules.ts';
import type { MeshErrorKind } from './meshError.ts';

/** The target of a dial. */
export interface Target {
  host: string;
  port: number;
  /** The configured name of the service. */
  service: string;
  /** Only the mesh protects what is sent. */
  isCleartext: boolean;
}

/** The name of a service and its unparsed `intercept.v1` configuration. */
export interface Intercept {
  name: string;
  intercept: unknown;
}

/** The chosen service, or the kind of the error and its message. */
type ServiceChoice<T> = { service: T } | { kind: 'notGranted' | 'unsupported'; problem: string };

/**
 * The service with the configured name, else the service whose intercept matches the target most precisely. The order
 * is: exact address, smallest network or longest suffix, smallest range of ports, first name. A pattern never counts
 * for clear text, because it may match services of others.
 */
export function chooseService<T extends Intercept>(services: readonly T[], target: Target): ServiceChoice<T> {
  const named = services.find(({ name }) => name === target.service);
  if (named !== undefined) return { service: named };
  const [best] = services
    .flatMap((service) => {
      const match = matchOf(service.intercept, target);
      return match === null ? [] : [{ service, ...match }];
    })
    .toSorted((a, b) => a.width - b.width || a.ports - b.ports || (a.service.name < b.service.name ? -1 : 1));
  const address = `${target.host}:${target.port}`;
  if (best === undefined) {
    const problem = `neither the service ${target.service} nor ${address} is granted to the identity`;
    return { kind: 'notGranted', problem };
  }
  if (target.isCleartext && best.width > 0) {
    const problem = `the service ${best.service.name} intercepts ${address} by a pattern, and http: would send it a token in clear text: use https:, or configure the name of the service`;
    return { kind: 'unsupported', problem };
  }
  return { service: best.service };
}

/** How imprecise a match is: `width` is 0 for an exact address, `ports` for one port. */
interface Match {
  width: number;
  ports: number;
}

function matchOf(intercept: unknown, { host, port }: Target): Match | null {
  const { addresses, portRanges, protocols } = asRecord(intercept);
  if (!asList(protocols).includes('tcp')) return null;
  const wanted = host.toLowerCase().replace(/^\[|\]$/g, '');
  const width = smallest(asList(addresses).map((address) => widthOf(asText(address).toLowerCase(), wanted)));
  const ports = smallest(asList(portRanges).map((range) => extentOf(range, port)));
  return width === null || ports === null ? null : { width, ports };
}

/** Null if no match is among them. */
function smallest(widths: (number | null)[]): number | null {
  return widths.reduce((best, width) => (best === null || (width !== null && width < best) ? width : best), null);
}

/** The bits or characters that the address leaves open; null if it does not match. */
function widthOf(address: string, host: string): number | null {
  if (address === host) return 0;
  if (address.startsWith('*.')) return host.endsWith(address.slice(1)) ? host.length - address.length + 1 : null;
  const [network = '', given] = address.split('/');
  const [family, hostFamily] = [familyOf(network), familyOf(host)];
  if (family === null || hostFamily === null) return null;
  const size = family === 'ipv4' ? 32 : 128;
  const bits = given === undefined ? size : Number(/^\d{1,3}$/.test(given) ? given : NaN);
  if (!(bits <= size)) return null;
  const block = new BlockList();
  block.addSubnet(network, bits, family);
  return block.check(host, hostFamily) ? size - bits : null;
}

function familyOf(address: string): 'ipv4' | 'ipv6' | null {
  if (address.includes('%')) return null;
  switch (isIP(address)) {
    case 4:
      return 'ipv4';
    case 6:
      return 'ipv6';
    default:
      return null;
  }
}

/** The number of other ports in the range; null if it does not contain the port. */
function extentOf(range: unknown, port: number): number | null {
  const { low, high } = asRecord(range);
  return typeof low === 'number' && typeof high === 'number' && low <= port && port <= high ? high - low : null;
}

/** Why a login at one controller failed. */
interface LoginFailure {
  kind: MeshErrorKind;
  message: string;
}

/**
 * The result of failed logins at all controllers: a refusal only if every controller that responded refuses, with the
 * message of each. Otherwise the first failure that says more than that a controller is unreachable.
 */
export function judgeLogins(failures: readonly LoginFailure[]): LoginFailure {
  const responses = failures.filter(({ kind }) => kind !== 'unreachable');
  const other = responses.find(({ kind }) => kind !== 'refused');
  if (other !== undefined) return other;
  if (responses.length === 0) return failures.at(-1) ?? { kind: 'unreachable', message: 'there is no controller' };
  const messages = [...responses, ...failures.filter((failure) => !responses.includes(failure))].map(
    ({ message }) => message,
  );
  return { kind: 'refused', message: messages.join('; ') };
}

/** Facts about the network of an identity that earlier logins found. */
export interface NetworkMemory {
  /** Digest of the identity's own controllers and authorities: an edited identity starts with an empty memory. */
  identity: string;
  /** Addresses of the controllers, first the one that was used last. */
  controllers: string[];
  /** PEM of the network's authorities. */
  ca: string[];
  /** Routers that connected a service. */
  routers: string[];
  /** Warnings that were given, and that still hold. */
  warned: string[];
}

/** Upper bound for the length of each remembered list. */
const MAX_REMEMBERED = 100;

/** The memory in a file's text; an empty one if the text is about another identity. */
export function memoryOf(text: string | null, identity: string): NetworkMemory {
  const stored = asRecord(parseJson(text ?? ''));
  const own = stored['identity'] === identity ? stored : {};
  const listOf = (name: string) => textsIn(own[name]);
  return {
    identity,
    controllers: listOf('controllers'),
    ca: listOf('ca'),
    routers: listOf('routers'),
    warned: listOf('warned'),
  };
}

/** The texts of a list, each once. */
function textsIn(list: unknown): string[] {
  return [...new Set(asList(list).map(asText))].filter((text) => text !== '').slice(0, MAX_REMEMBERED);
}

/** The controllers of the identity and of the memory: the one that was used last, then the identity's own, each once. */
export function orderControllers(
  own: readonly string[],
  { controllers: [latest, ...others] }: NetworkMemory,
): string[] {
  return textsIn([latest, ...own, ...others]);
}

/** The addresses of the client API in the list of a cluster's controllers. */
export function controllerAddresses(list: unknown): string[] {
  const addresses = asList(list)
    .flatMap((controller) => asList(asRecord(asRecord(controller)['apiAddresses'])['edge-client']))
    .map((address) => asText(asRecord(address)['url']));
  return textsIn(addresses.filter((url) => url.startsWith('https://')));
}

/** Routers that were tried; each is `host:port`. */
export interface KnownRouters {
  /** Those that connected services before, the latest first. */
  good: readonly string[];
  /** Those that failed since. */
  failed: ReadonlySet<string>;
}

/** The addresses in the order in which they are dialled; the unknown ones begin at `start`, from 0 to 1. */
export function orderRouters<T extends { host: string; port: number }>(
  routers: readonly T[],
  { good, failed }: KnownRouters,
  start: number,
): T[] {
  const first = Math.floor(routers.length * start);
  const rankOf = (router: T) => {
    const key = routerKey(router);
    if (failed.has(key)) return Infinity;
    return good.includes(key) ? good.indexOf(key) : good.length;
  };
  return [...routers.slice(first), ...routers.slice(0, first)]
    .map((router) => ({ router, rank: rankOf(router) }))
    .toSorted((one, other) => (one.rank === other.rank ? 0 : one.rank - other.rank))
    .map(({ router }) => router);
}

/** The name of a router in `KnownRouters`. */
export function routerKey({ host, port }: { host: string; port: number }): string {
  return `${host}:${port}`;
}

/** Clocks that differ by less explain no failed login. */
const CLOCK_TOLERANCE_MS = 300_000;

/** The difference between the time of this host and the `Date` of a response, in words; empty if they agree. */
export function clockProblem(now: Date, date: string | undefined): string {
  const there = new Date(date ?? NaN);
  if (!(Math.abs(there.getTime() - now.getTime()) > CLOCK_TOLERANCE_MS)) return '';
  const [here, theirs] = [now, there].map((time) => time.toISOString().replace(/\.\d+Z$/, 'Z'));
  return `the clock of this host shows ${here}, and the clock of the controller ${theirs}: set the wrong one`;
}
