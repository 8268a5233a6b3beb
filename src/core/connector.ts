import { type LookupAddress, lookup as resolve } from 'node:dns';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction, setDefaultAutoSelectFamilyAttemptTimeout, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  checkServerIdentity,
  type DetailedPeerCertificate,
  type PeerCertificate,
  type SecureContext,
  TLSSocket,
} from 'node:tls';
import { monotonicMs } from './clock.ts';
import { keepShownChain } from './certificateAuthorities.ts';

/** The connections of calls, by scheme; TLS connections have their trusted authorities. */
export interface Agents {
  http: HttpAgent;
  https: HttpsAgent;
}

/** The trust of TLS connections. */
export interface PeerTrust {
  readonly context: SecureContext;
  /** Called with each verified certificate. */
  readonly onVerified?: (leaf: DetailedPeerCertificate) => void;
}

/** How connections are made. */
export interface ConnectionOptions {
  /** Milliseconds for name lookup, connect and TLS handshake together. */
  connectTimeoutMs: number;
  /** Connect to this address instead of the host of the URL. */
  address?: { host: string; port: number };
  /** True by default. */
  keepAlive?: boolean;
  maxSockets?: number;
}

/**
 * Agents for ordinary networking. Each address of a name is tried for an equal share of the connect timeout. Node's own limit
 * for an address, 250 ms, is shorter than one round trip by satellite: no address would ever be reached.
 */
export function createAgents(trust: PeerTrust, connection: ConnectionOptions): Agents {
  return { http: createHttpAgent(connection), https: new ConnectingHttpsAgent(connection, trust) };
}

/** The agent for plain HTTP. */
export function createHttpAgent(connection: ConnectionOptions): HttpAgent {
  return new ConnectingHttpAgent(connection);
}

/** Closes all connections. */
export function closeAgents({ http, https }: Agents): void {
  http.destroy();
  https.destroy();
}

type Connect = HttpsAgent['createConnection'];
type Options = Parameters<Connect>[0];

/** Plain HTTP connections with a connect timeout. */
class ConnectingHttpAgent extends HttpAgent {
  readonly #connection: ConnectionOptions;

  constructor(connection: ConnectionOptions) {
    super(poolOptions(connection));
    this.#connection = connection;
  }

  override createConnection(...[options, callback]: Parameters<Connect>): ReturnType<Connect> {
    const connect = (ready: Options) => super.createConnection(ready);
    return connectInTime(this, this.#connection, { options, callback, connect, readyEvent: 'connect' });
  }
}

/** TLS connections with a connect timeout: one context for all, and the certificate must match the host of the URL. */
class ConnectingHttpsAgent extends HttpsAgent {
  readonly #connection: ConnectionOptions;
  readonly #trust: PeerTrust;

  constructor(connection: ConnectionOptions, trust: PeerTrust) {
    super({ ...poolOptions(connection), secureContext: trust.context, rejectUnauthorized: true });
    this.#connection = connection;
    this.#trust = trust;
  }

  override createConnection(...[options, callback]: Parameters<Connect>): ReturnType<Connect> {
    const { rejectUnauthorized, checkServerIdentity } = verificationOptions(options.host ?? '', this.#trust);
    const connect = (ready: Options) => {
      const socket = super.createConnection({ ...ready, rejectUnauthorized, checkServerIdentity });
      if (socket instanceof TLSSocket) keepShownChain(socket, options.host ?? '');
      return socket;
    };
    return connectInTime(this, this.#connection, { options, callback, connect, readyEvent: 'secureConnect' });
  }
}

function poolOptions({ keepAlive = true, maxSockets }: ConnectionOptions) {
  return { keepAlive, ...(maxSockets !== undefined && { maxSockets }) };
}

/** TLS options that require a certificate for `host`, whatever the options of a call and the dialled address are. */
export function verificationOptions(host: string, { onVerified }: PeerTrust) {
  return {
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: true,
    checkServerIdentity: (_name: string, certificate: PeerCertificate) => {
      const fault = checkServerIdentity(host, certificate);
      if (fault === undefined) onVerified?.(certificate as DetailedPeerCertificate);
      return fault;
    },
  };
}

/** One connection that an agent asks for. */
interface ConnectionRequest {
  options: Options;
  callback: Parameters<Connect>[1];
  connect: (options: Options) => Duplex | null | undefined;
  /** The event by which the connection is ready. */
  readyEvent: 'connect' | 'secureConnect';
}

/** The connection, or undefined where it is passed to the callback, after the lookup of the name. */
function connectInTime(
  agent: HttpAgent,
  { connectTimeoutMs, address }: ConnectionOptions,
  { options, callback, connect, readyEvent }: ConnectionRequest,
): Duplex | null | undefined {
  const target = { ...options, ...address };
  if (isIP(target.host ?? '') !== 0) return withConnectTimeout(connect(target), readyEvent, connectTimeoutMs);
  const release = reserveSocket(agent, agent.getName(options));
  const connectResolved = async () => {
    const { addresses, leftMs } = await resolveAddresses(target, connectTimeoutMs);
    if (!release()) throw Object.assign(new Error('the agent was closed'), { code: 'ECONNRESET' });
    const socket = withConnectTimeout(connect({ ...target, ...addresses }), readyEvent, leftMs);
    if (socket) callback?.(null, rememberFamily(socket));
  };
  connectResolved().catch((error: unknown) => {
    (callback as ((error: unknown) => void) | undefined)?.(error);
  });
  return undefined;
}

/**
 * Counts a connection among the agent's sockets while its name is looked up, so that `maxSockets` holds. The result ends that; it
 * is false if the agent has been closed meanwhile.
 */
function reserveSocket({ sockets }: HttpAgent, name: string): () => boolean {
  const places = sockets as Record<string, Socket[]>;
  const place = new Socket();
  (places[name] ??= []).push(place);
  return () => {
    places[name] = (places[name] ?? []).filter((socket) => socket !== place);
    return !place.destroyed;
  };
}

/** A host, and how it is looked up. */
interface LookupTarget {
  host?: string | null | undefined;
  lookup?: LookupFunction | undefined;
}

/**
 * Looks a host up. With the options `addresses`, a connection tries each address for an equal share of the rest of the time,
 * `leftMs`; a failed lookup becomes the error of the connection, as it would in Node.
 */
export async function resolveAddresses({ host, lookup = resolve }: LookupTarget, timeMs: number) {
  const startedAt = monotonicMs();
  const found = await new Promise<LookupAddress[] | NodeJS.ErrnoException>((settle) => {
    const late = () => settle(Object.assign(new Error('lookup timeout'), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(late, timeMs);
    lookup(host ?? 'localhost', { all: true }, (error, addresses) => {
      clearTimeout(timer);
      settle(error ?? preferringFamily(addresses as LookupAddress[]));
    });
  });
  const leftMs = Math.max(1, timeMs - (monotonicMs() - startedAt));
  const count = Array.isArray(found) ? Math.max(1, found.length) : 1;
  const autoSelectFamilyAttemptTimeout = Math.max(1, Math.floor(leftMs / count));
  return { addresses: { lookup: answering(found), autoSelectFamily: true, autoSelectFamilyAttemptTimeout }, leftMs };
}

/** Answers later, as a lookup does: the agent has no error listener on the socket yet. */
function answering(found: LookupAddress[] | NodeJS.ErrnoException): LookupFunction {
  return (_host, { all = false }, callback) => {
    setImmediate(() => {
      if (!Array.isArray(found)) callback(found, []);
      else if (all) callback(null, found);
      else callback(null, found[0]?.address ?? '', found[0]?.family ?? 4);
    });
  };
}

/** The family of the newest connection: where the other family is dead, only the first connection waits for it. */
let newestFamily: number | null = null;

function preferringFamily(addresses: LookupAddress[]): LookupAddress[] {
  return addresses.toSorted((a, b) => Number(b.family === newestFamily) - Number(a.family === newestFamily));
}

function rememberFamily<S extends Duplex>(stream: S): S {
  if (stream instanceof Socket) stream.once('connect', () => (newestFamily = stream.remoteFamily === 'IPv6' ? 6 : 4));
  return stream;
}

/** Destroys the socket with ETIMEDOUT when the event `readyEvent` does not come in time; returns the socket. */
export function withConnectTimeout<S extends Duplex>(
  socket: S | null | undefined,
  readyEvent: string,
  timeoutMs: number,
): S | null | undefined {
  if (!socket) return socket;
  const onTimeout = () => socket.destroy(Object.assign(new Error('connect timeout'), { code: 'ETIMEDOUT' }));
  const timer = setTimeout(onTimeout, timeoutMs);
  const clear = () => clearTimeout(timer);
  socket.once(readyEvent, clear).once('close', clear);
  return socket;
}

/** Milliseconds for an address where a library makes its own connections; a SYN may be lost and sent again within it. */
const DEFAULT_ATTEMPT_MS = 2500;

/** Gives each address of a name more time than Node does, also in libraries that know nothing of `createAgents`. */
export function allowSlowConnections(): void {
  setDefaultAutoSelectFamilyAttemptTimeout(DEFAULT_ATTEMPT_MS);
}
