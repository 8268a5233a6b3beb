import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, type DetailedPeerCertificate, type PeerCertificate } from 'node:tls';
import type { Duplex } from 'node:stream';
import type { Agents } from '../../../core/nodeClient.ts';
import type { Trust } from './trustStore.ts';

/** An address to connect to instead of the host of the URL. */
export interface Address {
  host: string;
  port: number;
}

/** Options of an agent's connections; the timeout covers name lookup, connect and TLS handshake together. */
export interface ConnectionOptions {
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
