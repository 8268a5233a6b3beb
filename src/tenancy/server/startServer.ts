import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { WebhookEvent as Event } from '../../api/webhooks.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { registerAgentRoutes } from '../agents/routes.ts';
import { registerHostRoutes } from '../backends/hostCodes.ts';
import { registerConsole } from '../console/consoleRoutes.ts';
import { Admission, countedAddress, type CountedCaller } from '../core/limiter.ts';
import { permissionsWith } from '../core/permission.rules.ts';
import type { LogLine } from '../core/log.ts';
import { answerError, answerOtherMethods, answerUnknownUrls, limitBodyTime, requireLeastRate } from '../http/errors.ts';
import { answerClientError, type HttpLimits, serverFactory, type TlsIdentity } from '../http/httpServer.ts';
import { sessionCookie } from '../http/responses.ts';
import { compileSerializer, compileValidator, shareComponents } from '../http/validators.ts';
import { eventOf, type Occurrence } from '../webhooks/event.rules.ts';
import { GateAnswer, GateQuestion, WebhookEvent } from '../webhooks/webhookSchemas.ts';
import type { TenancyParts } from './createTenancy.ts';
import { observeRequests, requestIdOf, RequestMetrics, serviceMetrics, traceRequests } from './observability.ts';
import { operatorRoutes, registerOperatorRoutes } from './operatorRoutes.ts';
import { registerPublicRoutes } from './publicRoutes.ts';

/** Address and files of the server. */
interface ServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Null for plain HTTP, on loopback only. */
  readonly tls: TlsSource | null;
  readonly log: LogLine;
}

/** Where the certificate chain and the key of the server come from. */
export interface TlsSource {
  /** Throws if there is no usable pair. */
  read: () => TlsIdentity | Promise<TlsIdentity>;
  /** Milliseconds between two reads. */
  readonly everyMs: number;
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

/** Starts the HTTP interface that `create` makes for a certificate. */
export async function startServer(
  create: (tls: TlsIdentity | null) => Promise<FastifyInstance>,
  { host, port, tls: source, log }: ServerOptions,
): Promise<RunningServer> {
  const tls = source && (await source.read());
  const app = await create(tls);
  await app.listen({ host, port, backlog: BACKLOG });
  const stopFollowing = source && tls && followTls(app.server, { source, identity: tls, log });
  return {
    port: (app.server.address() as AddressInfo).port,
    stop: async () => {
      await stopFollowing?.();
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

/** Milliseconds between two reads of the files. */
const FILES_EVERY_MS = 10_000;

/** The certificate and key in files. */
export function tlsFilesSource(files: TlsFiles): TlsSource {
  return { read: () => readTlsFiles(files), everyMs: FILES_EVERY_MS };
}

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

/** The source to follow, and the callback for changes. */
interface FollowedTls {
  source: TlsSource;
  /** The identity with which the server started. */
  identity: TlsIdentity;
  log: LogLine;
}

/**
 * Uses the certificate and key for new connections as soon as they change. Skips a pair that does not match, for
 * example during a replacement. Returns a function that stops it, after a read in progress has finished.
 */
export function followTls(server: Server, { source, identity, log }: FollowedTls): () => Promise<void> {
  let current = identity;
  let trouble = '';
  let looking = Promise.resolve();
  const look = async () => {
    try {
      const next = await source.read();
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
  const timer = setInterval(() => void (looking = looking.then(look)), source.everyMs).unref();
  return async () => {
    clearInterval(timer);
    await looking;
  };
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
  // Before the routes, which may replace them: no answer is kept or guessed, and no browser calls without TLS again.
  app.addHook('onRequest', async (_request, reply) => void reply.headers(securityHeaders(parts.settings)));
  if (parts.spans !== null) traceRequests(app, parts.spans, parts.clock);
  answerUnknownUrls(app);
  admission.guard(app, callerOf);
  limitBodyTime(app, limits.bodyMs);
  requireLeastRate(app, limits);
  await app.register(swagger, {
    openapi: documentInfo(parts.version),
    transformObject: (document) => shareComponents({ ...('openapiObject' in document && document.openapiObject) }),
  });
  const otherMethods = answerOtherMethods(app);
  registerPublicRoutes(app, parts, async () => [...metrics.families(), ...(await serviceMetrics(parts, admission))]);
  await registerAgentRoutes(app, parts);
  await registerHostRoutes(app, parts);
  registerOperatorRoutes(app, parts, operatorRoutes);
  registerConsole(app, parts);
  // Otherwise event streams would keep their connections open forever.
  app.addHook('preClose', async () => parts.changes.end());
  app.after(otherMethods);
  await app.ready();
  return app;
}

/** The authenticated caller of a request, or the address of a stranger who requests a document; null for other strangers. */
function callerOf(
  request: Partial<Pick<FastifyRequest, 'operator' | 'token'>> & Pick<FastifyRequest, 'ip' | 'routeOptions'>,
): CountedCaller | null {
  const { operator = null, token = null, ip, routeOptions } = request;
  if (routeOptions.config.lane === 'public') return { key: `address ${countedAddress(ip)}`, kind: 'stranger' };
  if (token !== null) return { key: `host ${token.backendId}`, kind: 'host' };
  if (operator === null) return null;
  const isAdmin = permissionsWith(operator.permissions, 'admin').length > 0;
  return { key: `operator ${operator.session?.subject ?? operator.id}`, kind: isAdmin ? 'admin' : 'operator' };
}

/** Headers of every answer of the service. */
function securityHeaders({ public_url }: TenancyParts['settings']): Record<string, string> {
  return {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(public_url.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
  };
}

const bearer = { type: 'http', scheme: 'bearer' } as const;

/** The head of the OpenAPI document. */
function documentInfo(version: string) {
  return {
    openapi: '3.1.0' as const,
    info: {
      title: 'Tenancy service of deployd',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: [
        'API of the tenancy service for deploy agents, operators and the secretstore. Bodies are JSON in UTF-8, times are RFC',
        '3339 in UTC. Bearers are read only from the Authorization header; a request with a bearer ignores cookies. Unknown',
        'fields are rejected in requests of operators and ignored in requests of agents. Agents ignore unknown fields of',
        'responses. The X-Request-Id header of a request (at most 64 letters, digits, _ and -) is written to the logs.',
      ].join(' '),
    },
    servers: [{ url: 'https://{tenancy}', variables: { tenancy: { default: 'tenancy.deploy' } } }],
    tags: [
      { name: 'public', description: 'Answered without a bearer.' },
      { name: 'agent', description: 'Called by agents, with the secretstore token of the host as bearer.' },
      {
        name: 'operators',
        description: 'Called by operators, with an operator token as bearer or with a browser session.',
      },
    ],
    webhooks: documentedWebhooks,
    components: {
      securitySchemes: {
        operatorToken: { ...bearer, description: 'Token of an operator.' },
        session: {
          ...({ type: 'apiKey', in: 'cookie', name: sessionCookie } as const),
          description:
            'Session of a person; what changes or reveals something is accepted from pages of the service only (Sec-Fetch-Site, Origin).',
        },
        kitGrant: {
          ...({ type: 'apiKey', in: 'header', name: 'DEPLOY-TOKEN' } as const),
          description: 'The bootstrap grant of an install kit.',
        },
        storeToken: { ...bearer, description: 'Token of the secretstore that a host has.' },
      },
    },
  };
}

const description = [
  'Sent to the webhooks of the format `standard`, at least once and in the order of each webhook, signed by the scheme of Standard',
  'Webhooks 1.0.0: `webhook-signature` has the base64 of HMAC-SHA256 over `webhook-id`, `webhook-timestamp` and the body, joined',
  'by dots. The id is the same at each try. Any answer 2xx takes it; a redirect is not followed.',
].join(' ');

const gateDescription = [
  'Sent to the webhook that a rollout names, when a wave has succeeded and its soak is over, signed as events are; the id is the same',
  'at each try at one gate. An answer 2xx with a verdict lets the rollout pass or halts it. Anything else is not a valid answer: the question',
  'is asked again, after `Retry-After` or with growing pauses, and the rollout is halted after `webhooks.give_up_after_s`.',
].join(' ');

const parameters = ['id', 'timestamp', 'signature'].map((name) => ({
  name: `webhook-${name}`,
  in: 'header' as const,
  required: true,
  schema: { type: 'string' as const },
}));

/** The webhook messages of the service, for the OpenAPI document. */
const documentedWebhooks = {
  event: {
    post: {
      operationId: 'receiveEvent',
      summary: 'An event of the format `standard`',
      description,
      parameters,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: WebhookEvent, examples: examplesOf() } },
      },
      responses: { '2XX': { description: 'Taken.' } },
    },
  },
  gate: {
    post: {
      operationId: 'answerGate',
      summary: 'The question of a gate: may the rollout continue?',
      description: gateDescription,
      parameters,
      requestBody: { required: true, content: { 'application/json': { schema: GateQuestion } } },
      responses: { '2XX': { description: 'A verdict.', content: { 'application/json': { schema: GateAnswer } } } },
    },
  },
};

function examplesOf(): Record<string, { value: Event }> {
  const now = Date.parse('2026-11-24T12:00:00Z');
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const check_in = JSON.stringify({ host: { name: 'db-1.example' } });
  const backend = { id, site: 'berlin', check_in };
  const bundle = { sha256: '3f2a91bc0d14'.padEnd(64, '0'), name: 'shop', version: '1.4.0', sequence: 17 };
  const detail = 'failed: docker compose pull failed (rc=1)';
  const output = 'db Pulling\ndb Error manifest unknown';
  const occurrences: Record<string, Occurrence> = {
    failed: { type: 'backend.failed', now, env: 'eu-1', backend, bundle, code: 'PULL_FAILED', detail, output },
    offline: { type: 'backend.offline', now, env: 'eu-1', backend },
    halted: {
      type: 'rollout.halted',
      now,
      env: 'eu-1',
      bundle,
      rollout: { id, failures: 3, halted_by: 'failures', wave: 2, waves: 4, awaited: 0, excused: 0 },
    },
    awaiting: { type: 'bundle.awaiting_signature', now, env: 'eu-1', bundle },
    held: { type: 'env.held', now, env: 'eu-1' },
  };
  return Object.fromEntries(
    Object.entries(occurrences).map(([name, occurrence]) => [name, { value: eventOf(occurrence) }]),
  );
}
