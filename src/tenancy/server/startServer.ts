import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { readRegularFile } from '../../core/files.ts';
import type { LogLine } from '../core/log.ts';
import type { TlsIdentity } from '../http/httpServer.ts';
import { createApp, type HttpParts } from './app.ts';

/** Address and files of the server. */
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
  /** Accepts nothing new, and resolves when every request is answered or the time limit is over. */
  stop: () => Promise<void>;
}

/** Milliseconds for requests to finish when the service stops; systemd gives a unit 90 s. */
const STOP_TIME_MS = 20_000;

/**
 * Largest number of connections that wait to be accepted, for example when a fleet reconnects after an outage; the
 * kernel's limit may be lower.
 */
export const BACKLOG = 65_535;

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

/** Milliseconds between two checks of the files. */
const LOOK_EVERY_MS = 10_000;

/** The certificate and key cannot be used; the message names the files and the reason. */
export class TlsFilesError extends Error {
  constructor({ certificate, key }: TlsFiles, reason: string) {
    super(`${certificate} and ${key}: ${reason}`);
    this.name = 'TlsFilesError';
  }
}

/** Largest file of a certificate chain or key, in bytes. */
const MAX_BYTES = 1_048_576;

/** Reads certificate and key; throws TlsFilesError unless they match. */
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

/** The files to follow, and the callback for changes. */
interface FollowedFiles {
  files: TlsFiles;
  /** The identity with which the server started. */
  identity: TlsIdentity;
  log: LogLine;
}

/**
 * Uses the certificate and key for new connections as soon as the files change. Skips a pair that does not match, for
 * example during a replacement. Returns a function that stops it.
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
