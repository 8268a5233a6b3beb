import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, type DetailedPeerCertificate, type PeerCertificate } from 'node:tls';
import type { Duplex } from 'node:stream';
import type { Settings } from '../../config/settings.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';
import type { Trust } from './trust.ts';

/**
 * How the two services are reached (spec §15). Whatever the way, TLS is 1.2 or newer, the certificate is checked
 * against the peer's CA under the name in its URL, and no environment variable changes that.
 */
export interface Transport {
  readonly name: Settings['transport'];
  /** The same agents at every call until `widest` is asked, so that connections, TLS contexts and sessions are shared. */
  agents: (peer: Peer) => Agents;
  /** Agents that trust all that may be trusted: other ones than before where those trusted a part of the system's roots. */
  widest: (peer: Peer) => Agents;
  /** Closes the connections kept for reuse; the next call opens new ones, and trusts what the CA files hold then. */
  close: () => void;
}

/** For got: one agent for each scheme. */
export interface Agents {
  http: HttpAgent;
  https: HttpsAgent;
}

/** Where to connect instead of to the URL's own host. */
export interface Address {
  host: string;
  port: number;
}

/** What an agent's connections obey; the time covers name lookup, connect and TLS together. */
export interface Bounds {
  address: Address | null;
  connectTimeoutMs: number;
}

type Connect = HttpsAgent['createConnection'];

/** Agents for an ordinary network. */
export function boundedAgents(bounds: Bounds, trust: Trust): Agents {
  return { http: new BoundedHttpAgent(bounds), https: new BoundedHttpsAgent(bounds, trust) };
}

/** Plain HTTP connections, bounded in time, kept for reuse. */
class BoundedHttpAgent extends HttpAgent {
  readonly #bounds: Bounds;

  constructor(bounds: Bounds) {
    super({ keepAlive: true });
    this.#bounds = bounds;
  }

  override createConnection(...[options, done]: Parameters<Connect>): ReturnType<Connect> {
    const socket = super.createConnection({ ...options, ...this.#bounds.address }, done);
    return bounded(socket, 'connect', this.#bounds.connectTimeoutMs);
  }
}

/** The same over TLS: one context for all connections, and a certificate that must be good for the URL's host. */
class BoundedHttpsAgent extends HttpsAgent {
  readonly #bounds: Bounds;
  readonly #trust: Trust;

  constructor(bounds: Bounds, trust: Trust) {
    super({ keepAlive: true, secureContext: trust.context, rejectUnauthorized: true });
    this.#bounds = bounds;
    this.#trust = trust;
  }

  override createConnection(...[options, done]: Parameters<Connect>): ReturnType<Connect> {
    const { rejectUnauthorized, checkServerIdentity } = checkedFor(options.host ?? '', this.#trust);
    const socket = super.createConnection(
      { ...options, ...this.#bounds.address, rejectUnauthorized, checkServerIdentity },
      done,
    );
    return bounded(socket, 'secureConnect', this.#bounds.connectTimeoutMs);
  }
}

/** TLS options that make the certificate be good for the host, whatever a call says or where it is dialled. */
export function checkedFor(host: string, { vouched }: Trust) {
  return {
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: true,
    checkServerIdentity: (_name: string, certificate: PeerCertificate) => {
      const fault = checkServerIdentity(host, certificate);
      if (fault === undefined) vouched?.(certificate as DetailedPeerCertificate);
      return fault;
    },
  };
}

/** The socket, which is destroyed with ETIMEDOUT when the event has not come in time. */
export function bounded(
  socket: Duplex | null | undefined,
  ready: string,
  timeoutMs: number,
): Duplex | null | undefined {
  if (!socket) return socket;
  const late = () => socket.destroy(Object.assign(new Error('connect timeout'), { code: 'ETIMEDOUT' }));
  const timer = setTimeout(late, timeoutMs);
  const clear = () => clearTimeout(timer);
  socket.once(ready, clear).once('close', clear);
  return socket;
}
