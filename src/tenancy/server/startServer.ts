import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { readRegularFile } from '../../core/files.ts';
import { registerAgentRoutes } from '../agents/routes.ts';
import { registerConsole } from '../console/consoleRoutes.ts';
import { Admission } from '../core/limiter.ts';
import type { LogLine } from '../core/log.ts';
import { answerError, answerOtherMethods, answerUnknownUrls, limitBodyTime } from '../http/errors.ts';
import { answerClientError, type HttpLimits, serverFactory, type TlsIdentity } from '../http/httpServer.ts';
import { compileSerializer, compileValidator, shareComponents } from '../http/validators.ts';
import type { TenancyParts } from './createTenancy.ts';
import { observeRequests, requestIdOf, RequestMetrics, serviceMetrics, traceRequests } from './observability.ts';
import { documentInfo } from './openapi.ts';
import { operatorRoutes, registerOperatorRoutes } from './operatorRoutes.ts';
import { registerPublicRoutes } from './publicRoutes.ts';

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

/** The parts of the HTTP interface. */
interface HttpParts {
  readonly parts: TenancyParts;
  /** Null for plain HTTP, on loopback only. */
  readonly tls: TlsIdentity | null;
  readonly limits: HttpLimits;
}

/** Largest JSON body in bytes. */
const MAX_JSON_BYTES = 1024 * 1024;

/** Creates the HTTP interface, which is not listening yet. */
export async function createApp({ parts, tls, limits }: HttpParts): Promise<FastifyInstance> {
  const { max_requests, limits: caps } = parts.settings;
  const onError = answerError(parts.log, caps.bundle_bytes);
  const app = Fastify({
    serverFactory: serverFactory(tls, limits),
    clientErrorHandler: answerClientError,
    frameworkErrors: (...failure) => void onError(...failure),
    bodyLimit: MAX_JSON_BYTES,
    // Names that could change prototypes are not in any schema, so validation rejects them by name.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    genReqId: requestIdOf,
    // Behind a proxy on loopback, the audit log contains the caller's address and not the proxy's.
    trustProxy: 'loopback',
    routerOptions: { maxParamLength: 200, caseSensitive: true },
  });
  app.setErrorHandler(onError);
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(compileSerializer);
  app.removeContentTypeParser('text/plain');
  const admission = new Admission(max_requests);
  const metrics = new RequestMetrics();
  observeRequests(app, parts.log, metrics);
  if (parts.spans !== null) traceRequests(app, parts.spans, parts.clock);
  answerUnknownUrls(app);
  admission.guard(app);
  limitBodyTime(app, limits.bodyMs);
  await app.register(swagger, {
    openapi: documentInfo(parts.version),
    transformObject: (document) => shareComponents({ ...('openapiObject' in document && document.openapiObject) }),
  });
  const otherMethods = answerOtherMethods(app);
  registerPublicRoutes(app, parts, async () => [...metrics.families(), ...(await serviceMetrics(parts, admission))]);
  await registerAgentRoutes(app, parts);
  registerOperatorRoutes(app, parts, operatorRoutes);
  registerConsole(app, parts);
  // Otherwise event streams would keep their connections open forever.
  app.addHook('preClose', async () => parts.changes.end());
  app.after(otherMethods);
  await app.ready();
  return app;
}
