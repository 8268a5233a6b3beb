import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { formatOpenMetrics, type MetricFamily, openMetricsType } from '../../core/metrics.rules.ts';
import type { LogLine } from '../core/log.ts';
import { requirePermission } from '../core/permission.rules.ts';
import { errorResponses, failures, success, tokenUseOf, unauthenticated } from '../http/responses.ts';
import type { KeyRing } from '../keys/keyRing.ts';
import type { BundleStorage } from '../peers/bundleStorage.ts';
import type { MeshDirectory } from '../peers/meshDirectory.ts';
import type { Secretstore } from '../peers/secretstore.ts';
import { authenticateOperator, type TokenDependencies } from '../people/authenticate.ts';
import { proveWritable } from '../store/openStore.ts';

/** Dependencies of the routes without a bearer token: the keys, and every part that `/readyz` checks. */
interface PublicDependencies extends TokenDependencies {
  /** Returns the current signing keys. */
  readonly keys: () => KeyRing;
  readonly secretstore: Secretstore;
  readonly bundles: BundleStorage;
  /** Null without a mesh. */
  readonly mesh: MeshDirectory | null;
}

const Jwks = Type.Object({ keys: Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true })) });
const Readiness = Type.Object({ ready: Type.Boolean(), missing: Type.Array(Type.String()) }, { title: 'Readiness' });
/** Fields of every route without a bearer token in the document. */
const common = { tags: ['public'], security: [] };
const failure = errorResponses({ 500: 'INTERNAL' });

/**
 * Registers the routes without a bearer token. All but the document are small, and do not count against the request
 * limits. `families` returns the metrics.
 */
export function registerPublicRoutes(
  app: FastifyInstance,
  deps: PublicDependencies,
  families: () => Promise<MetricFamily[]>,
): void {
  addJwks(app, deps);
  addHealth(app, deps);
  addMetrics(app, deps, families);
  const document = Type.Unsafe<object>({ type: 'object', additionalProperties: true });
  const response = { 200: success(200, document), ...failure };
  const schema = { ...common, operationId: 'openapi', summary: 'This document', response };
  let bytes: Buffer | undefined;
  app.get('/v1/openapi.json', { schema, config: { lane: 'public' } }, async (_request, reply) => {
    // Made once, because anybody can request it.
    bytes ??= Buffer.from(JSON.stringify(app.swagger()));
    return reply.type('application/json; charset=utf-8').send(bytes);
  });
}

function addMetrics(app: FastifyInstance, deps: TokenDependencies, families: () => Promise<MetricFamily[]>): void {
  const text = { content: { [openMetricsType]: { schema: Type.String() } } };
  const schema = {
    tags: ['public'],
    security: [{}, { operatorToken: [] }],
    operationId: 'metrics',
    summary: 'Metrics in the text form of OpenMetrics',
    description: 'Other hosts need the token of an administrator of all environments.',
    response: { 200: { description: 'OK', ...text }, ...failures({ 403: 'FORBIDDEN' }) },
  };
  app.get('/metrics', { schema }, async (request, reply) => {
    await requireMetricsReader(deps, request);
    return reply.type(openMetricsType).send(formatOpenMetrics(await families()));
  });
}

function addJwks(app: FastifyInstance, deps: { keys: () => KeyRing }): void {
  const summary = 'The keys by which the secretstore verifies grants and leases (RFC 7517)';
  const response = { 200: success(200, Jwks), ...failure };
  const schema = { ...common, operationId: 'jwks', summary, response };
  app.get('/.well-known/jwks.json', { schema }, async (_request, reply) => {
    void reply.header('cache-control', 'public, max-age=60');
    return deps.keys().jwks();
  });
}

function addHealth(app: FastifyInstance, deps: PublicDependencies): void {
  const findMissing = createReadiness(deps);
  const healthz = {
    ...common,
    operationId: 'healthz',
    summary: 'Whether the service runs',
    response: { 200: success(200, Type.Object({})), ...failure },
  };
  app.get('/healthz', { schema: healthz }, async () => ({}));
  const readyz = {
    ...common,
    operationId: 'readyz',
    summary: 'Whether the service has everything it needs',
    response: { 200: success(200, Readiness), 503: success(503, Readiness), ...failure },
  };
  app.get('/readyz', { schema: readyz }, async (_request, reply) => {
    const missing = await findMissing();
    return reply.code(missing.length === 0 ? 200 : 503).send({ ready: missing.length === 0, missing });
  });
}

/** Admits local callers that do not use a proxy, and administrators of all environments. */
async function requireMetricsReader(deps: TokenDependencies, request: FastifyRequest): Promise<void> {
  const { socket, headers } = request.raw;
  const isProxied = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
  if (/^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '') && !isProxied) return;
  const operator = await authenticateOperator(deps, tokenUseOf(request));
  if (operator === null) throw unauthenticated('bearer refused');
  requirePermission(operator, { role: 'admin', env: { every: true } });
}

/** The parts that the service needs, by their names in `/readyz`. */
type Part = 'store' | 'secretstore' | 'bundles' | 'mesh';

/** Milliseconds within which a part must answer. */
const PART_TIMEOUT_MS = 5000;
/** Milliseconds for which an answer is cached, so that callers cannot make the service check more often. */
const KEPT_MS = 1000;

/** Checks every part concurrently and returns the missing ones. Concurrent calls share one check. */
function createReadiness(deps: PublicDependencies): () => Promise<Part[]> {
  let last: { at: number; missing: Promise<Part[]> } | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - last.at > KEPT_MS) last = { at: now, missing: findMissing(deps) };
    return last.missing;
  };
}

async function findMissing(deps: PublicDependencies): Promise<Part[]> {
  const { store, secretstore, bundles, mesh } = deps;
  const checks: [Part, Promise<unknown>][] = [
    ['store', proveWritable(store)],
    ['secretstore', secretstore.check()],
    ['bundles', bundles.check()],
    ['mesh', mesh === null ? Promise.resolve() : mesh.check()],
  ];
  const missing = await Promise.all(checks.map(([part, check]) => partIfMissing(deps, part, check)));
  return missing.filter((part) => part !== null);
}

async function partIfMissing({ log }: { log: LogLine }, part: Part, check: Promise<unknown>): Promise<Part | null> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), PART_TIMEOUT_MS);
  try {
    await Promise.race([check, late.promise]);
    return null;
  } catch (error) {
    log('warn', `not ready: ${part}: ${error instanceof Error ? error.message : String(error)}`);
    return part;
  } finally {
    clearTimeout(timer);
  }
}
