import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Dependencies } from '../services/dependencies.ts';
import { authenticateOperator } from '../services/authenticateOperator.ts';
import { requirePermission } from '../services/requirePermission.ts';
import { createReadiness } from '../services/readiness.ts';
import { tokenUseOf, unauthenticated } from './bearer.ts';
import { formatOpenMetrics, openMetricsType, type MetricFamily } from '../../platform/text/metrics.ts';
import { errorResponses, failures, success } from './responses.ts';

const Jwks = Type.Object({ keys: Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true })) });
const Readiness = Type.Object({ ready: Type.Boolean(), missing: Type.Array(Type.String()) }, { title: 'Readiness' });
/** What every route without a bearer has in the document. */
const common = { tags: ['public'], security: [] };
const failure = errorResponses({ 500: 'INTERNAL' });

/** Registers the routes without a bearer, which take no place of the admission. `families` are the metrics. */
export function registerPublicRoutes(
  app: FastifyInstance,
  deps: Dependencies,
  families: () => Promise<MetricFamily[]>,
): void {
  addJwks(app, deps);
  addHealth(app, deps);
  addMetrics(app, deps, families);
  const document = Type.Unsafe<object>({ type: 'object', additionalProperties: true });
  const response = { 200: success(200, document), ...failure };
  const schema = { ...common, operationId: 'openapi', summary: 'This document', response };
  app.get('/v1/openapi.json', { schema }, async () => app.swagger());
}

function addMetrics(app: FastifyInstance, deps: Dependencies, families: () => Promise<MetricFamily[]>): void {
  const text = { content: { [openMetricsType]: { schema: Type.String() } } };
  const schema = {
    tags: ['public'],
    security: [{}, { operatorToken: [] }],
    operationId: 'metrics',
    summary: 'Metrics in the text form of OpenMetrics',
    description: 'Other hosts need the token of an administrator of all envs.',
    response: { 200: { description: 'OK', ...text }, ...failures({ 403: 'FORBIDDEN' }) },
  };
  app.get('/metrics', { schema }, async (request, reply) => {
    await requireMetricsReader(deps, request);
    return reply.type(openMetricsType).send(formatOpenMetrics(await families()));
  });
}

function addJwks(app: FastifyInstance, deps: Dependencies): void {
  const summary = 'The keys by which the secretstore verifies grants and leases (RFC 7517)';
  const response = { 200: success(200, Jwks), ...failure };
  const schema = { ...common, operationId: 'jwks', summary, response };
  app.get('/.well-known/jwks.json', { schema }, async (_request, reply) => {
    void reply.header('cache-control', 'public, max-age=60');
    return deps.keys().jwks();
  });
}

function addHealth(app: FastifyInstance, deps: Dependencies): void {
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

/** Admits callers on this host that no proxy speaks for, and administrators of all envs. */
async function requireMetricsReader(deps: Dependencies, request: FastifyRequest): Promise<void> {
  const { socket, headers } = request.raw;
  const isProxied = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
  if (/^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '') && !isProxied) return;
  const operator = await authenticateOperator(deps, tokenUseOf(request));
  if (operator === null) throw unauthenticated('bearer refused');
  requirePermission(operator, { role: 'admin', env: { every: true } });
}
