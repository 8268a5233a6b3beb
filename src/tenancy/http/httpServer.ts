import { createServer as createHttpServer, type Server, type ServerOptions } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { FastifyServerFactory } from 'fastify';

/** Certificate chain and key in PEM. */
export interface TlsIdentity {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** Limits against clients that are slow, silent or many. */
const limits: ServerOptions = {
  headersTimeout: 10_000,
  // A bundle that is uploaded; JSON bodies have a shorter time of their own.
  requestTimeout: 30 * 60_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5000,
  maxHeaderSize: 16_384,
};
/** Connections that are open at once; more are closed. */
const MAX_CONNECTIONS = 120_000;
const MAX_REQUESTS_PER_SOCKET = 0;

/** Creates the server below the HTTP interface: with TLS, or plain on loopback. */
export function serverFactory(tls: TlsIdentity | null): FastifyServerFactory {
  return (handler) => {
    const server: Server =
      tls === null
        ? createHttpServer(limits, handler)
        : createHttpsServer({ ...limits, ...tls, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] }, handler);
    server.maxConnections = MAX_CONNECTIONS;
    server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET;
    return server;
  };
}
