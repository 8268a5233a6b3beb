import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { readRegularFile } from '../../core/files.ts';
import type { LogLine } from '../core/log.ts';
import type { TlsIdentity } from '../http/httpServer.ts';
import { createApp, type HttpParts } from './app.ts';

/** Where the service listens, and how. */
interface ServerOptions {
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
  http: Omit<HttpParts, 'tls'>,
  { host, port, tlsFiles }: ServerOptions,
): Promise<RunningServer> {
  const tls = tlsFiles === null ? null : readTlsFiles(tlsFiles);
  const app = await createApp({ ...http, tls });
  await app.listen({ host, port, backlog: BACKLOG });
  const { log } = http.parts;
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

/** PEM files of a certificate chain and its key. */
interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Milliseconds between two looks at the files. */
const LOOK_EVERY_MS = 10_000;

/** Certificate and key cannot be used; the message names the files and says why. */
export class TlsFilesError extends Error {
  constructor({ certificate, key }: TlsFiles, reason: string) {
    super(`${certificate} and ${key}: ${reason}`);
    this.name = 'TlsFilesError';
  }
}

/** Largest file of a certificate chain or key, in bytes. */
const MAX_BYTES = 1_048_576;

/** Reads certificate and key; throws TlsFilesError unless they belong together. */
export function readTlsFiles(files: TlsFiles): TlsIdentity {
  try {
    const identity = {
      cert: readRegularFile(files.certificate, MAX_BYTES),
      key: readRegularFile(files.key, MAX_BYTES),
    };
    if (new X509Certificate(identity.cert).checkPrivateKey(createPrivateKey(identity.key))) return identity;
  } catch (error) {
    throw new TlsFilesError(files, (error as Error).message);
  }
  throw new TlsFilesError(files, 'the key does not belong to the certificate');
}

/** What is followed, and where its changes go. */
interface FollowedFiles {
  files: TlsFiles;
  /** The identity that the server began with. */
  identity: TlsIdentity;
  log: LogLine;
}

/**
 * Uses certificate and key for new connections as soon as the files have changed; a pair that does not fit together, as
 * in the midst of a replacement, is left out. Returns a function that stops it.
 */
export function followTlsFiles(
  server: Server,
  { files, identity, log }: FollowedFiles,
  everyMs = LOOK_EVERY_MS,
): () => void {
  let current = identity;
  let trouble = '';
  const look = () => {
    try {
      const next = readTlsFiles(files);
      trouble = '';
      if (isSame(next, current) || !(server instanceof TlsServer)) return;
      server.setSecureContext(next);
      current = next;
      log('info', 'the TLS certificate has been replaced');
    } catch (error) {
      const { message } = error as Error;
      if (message !== trouble) log('warn', `the TLS certificate cannot be used: ${message}`);
      trouble = message;
    }
  };
  const timer = setInterval(look, everyMs).unref();
  return () => clearInterval(timer);
}

function isSame(one: TlsIdentity, other: TlsIdentity): boolean {
  return String(one.cert) === String(other.cert) && String(one.key) === String(other.key);
}
