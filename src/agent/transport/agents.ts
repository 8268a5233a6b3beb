import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { checkServerIdentity, type DetailedPeerCertificate, type PeerCertificate } from 'node:tls';
import type { Agents } from '../../core/nodeClient.ts';
import type { Settings } from '../config/settings.ts';
import type { Peer } from './classifyError.rules.ts';
import type { Trust, TrustStore } from './trustStore.ts';

/** An address to connect to instead of the host of the URL. */
interface Address {
  host: string;
  port: number;
}

/** Options of an agent's connections; the timeout covers name lookup, connect and TLS handshake together. */
interface ConnectionOptions {
  address: Address | null;
  connectTimeoutMs: number;
}

type Connect = HttpsAgent['createConnection'];

/** Agents for ordinary networking. */
export function boundedAgents(connection: ConnectionOptions, trust: Trust): Agents {
  return { http: new BoundedHttpAgent(connection), https: new BoundedHttpsAgent(connection, trust) };
}

/** Plain HTTP connections with a connect timeout, kept for reuse. */
class BoundedHttpAgent extends HttpAgent {
  readonly #connection: ConnectionOptions;

  constructor(connection: ConnectionOptions) {
    super({ keepAlive: true });
    this.#connection = connection;
  }

  override createConnection(...[options, callback]: Parameters<Connect>): ReturnType<Connect> {
    const socket = super.createConnection({ ...options, ...this.#connection.address }, callback);
    return withConnectTimeout(socket, 'connect', this.#connection.connectTimeoutMs);
  }
}

/**
 * TLS connections with a connect timeout, kept for reuse: one context for all, and the certificate must match the host
 * of the URL.
 */
class BoundedHttpsAgent extends HttpsAgent {
  readonly #connection: ConnectionOptions;
  readonly #trust: Trust;

  constructor(connection: ConnectionOptions, trust: Trust) {
    super({ keepAlive: true, secureContext: trust.context, rejectUnauthorized: true });
    this.#connection = connection;
    this.#trust = trust;
  }

  override createConnection(...[options, callback]: Parameters<Connect>): ReturnType<Connect> {
    const { rejectUnauthorized, checkServerIdentity } = verificationOptions(options.host ?? '', this.#trust);
    const socket = super.createConnection(
      { ...options, ...this.#connection.address, rejectUnauthorized, checkServerIdentity },
      callback,
    );
    return withConnectTimeout(socket, 'secureConnect', this.#connection.connectTimeoutMs);
  }
}

/** TLS options that require a certificate for `host`, whatever the options of a call and the dialled address are. */
export function verificationOptions(host: string, { onVerified }: Trust) {
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

/** Destroys the socket with ETIMEDOUT when the event `readyEvent` does not come in time; returns the socket. */
export function withConnectTimeout(
  socket: Duplex | null | undefined,
  readyEvent: string,
  timeoutMs: number,
): Duplex | null | undefined {
  if (!socket) return socket;
  const onTimeout = () => socket.destroy(Object.assign(new Error('connect timeout'), { code: 'ETIMEDOUT' }));
  const timer = setTimeout(onTimeout, timeoutMs);
  const clear = () => clearTimeout(timer);
  socket.once(readyEvent, clear).once('close', clear);
  return socket;
}

/**
 * One pair of agents for each peer, opened at its first call. They are kept across `close` while the peer's trust is
 * unchanged, so that TLS sessions are resumed, which rely on the first handshake (except in the mesh).
 */
export function createAgentPool(
  trustStore: TrustStore,
  open: (peer: Peer, trust: Trust) => Agents,
): Pick<Transport, 'agents' | 'agentsWithAllRoots' | 'close'> {
  const pool = new Map<Peer, PooledAgents>();
  const replaced = new Set<Agents>();
  const agents = (peer: Peer): Agents => {
    const previous = pool.get(peer);
    if (previous?.isOpen) return previous.agents;
    const trust = trustStore.of(peer);
    if (previous && previous.trust !== trust) replaced.add(previous.agents);
    const pooled = previous?.trust === trust ? previous : { trust, agents: open(peer, trust), isOpen: true };
    pooled.isOpen = true;
    pool.set(peer, pooled);
    return pooled.agents;
  };
  return {
    agents,
    agentsWithAllRoots: (peer) => {
      const previous = pool.get(peer);
      if (previous?.trust.isPartial) {
        trustStore.useAllRoots();
        previous.isOpen = false;
      }
      return agents(peer);
    },
    close: () => {
      for (const pooled of pool.values()) {
        pooled.isOpen = false;
        replaced.add(pooled.agents);
      }
      for (const { http, https } of replaced) {
        http.destroy();
        https.destroy();
      }
      replaced.clear();
    },
  };
}

/** Agents, and the trust that they were opened with. */
interface PooledAgents {
  readonly trust: Trust;
  readonly agents: Agents;
  isOpen: boolean;
}

/**
 * How to reach the two services (spec §15). With every transport TLS is 1.2 or newer, the certificate is verified
 * against the peer's CA for the name in its URL, and no environment variable changes that.
 */
export interface Transport {
  readonly name: Settings['transport'];
  /**
   * The agents of a peer; the same until `agentsWithAllRoots` or a change of the CA, so that connections, TLS contexts
   * and sessions are shared.
   */
  agents: (peer: Peer) => Agents;
  /** Agents that trust all of the system's roots: new ones if those in use trust only the remembered roots. */
  agentsWithAllRoots: (peer: Peer) => Agents;
  /** Closes idle connections; the next call opens new ones and reads the CA files again. */
  close: () => void;
}
