import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';
import type { HttpDependencies } from './httpDependencies.ts';
import { followTlsFiles, readTlsFiles, type TlsFiles } from './tlsFiles.ts';

/** Where the service listens, and how. */
export interface ServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Null for plain HTTP, on loopback only. */
  readonly tlsFiles: TlsFiles | null;
}

/** A service that accepts connections. */
export interface RunningServer {
  readonly port: number;
  /** Accepts nothing new, and resolves when everything has been answered, or the time for it is over. */
  stop: () => Promise<void>;
}

/** Milliseconds that requests have to end when the service stops; systemd gives a unit 90 s. */
const STOP_TIME_MS = 20_000;

/** Connections that wait to be accepted, when a fleet comes back after an outage; the kernel's own limit may be lower. */
export const BACKLOG = 65_535;

/** Starts the HTTP interface. */
export async function startServer(
  http: Omit<HttpDependencies, 'tls'>,
  { host, port, tlsFiles }: ServerOptions,
): Promise<RunningServer> {
  const tls = tlsFiles === null ? null : readTlsFiles(tlsFiles);
  const app = await createApp({ ...http, tls });
  await app.listen({ host, port, backlog: BACKLOG });
  const { log } = http.deps;
  const stopFollowing = tlsFiles && tls && followTlsFiles(app.server, { files: tlsFiles, identity: tls, log });
  return {
    port: (app.server.address() as AddressInfo).port,
    stop: async () => {
      stopFollowing?.();
      const timer = setTimeout(() => app.server.closeAllConnections(), STOP_TIME_MS);
      await app.close().finally(() => clearTimeout(timer));
    },
  };
}
