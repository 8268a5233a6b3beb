import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { requirePermission } from '../services/requirePermission.ts';
import { createReadiness } from '../services/readiness.ts';
import { bearerOf, unauthenticated } from './bearer.ts';
import type { HttpDependencies } from './httpDependencies.ts';
import { formatMetrics, openMetricsType, type MetricFamily } from './metrics.ts';

const Jwks = Type.Object({ keys: Type.Array(Type.Unsafe<object>({ type: 'object', additionalProperties: true })) });
const Readiness = Type.Object({ ready: Type.Boolean(), missing: Type.Array(Type.String()) });
const tags = ['public'];

/** Registers the routes without a bearer, which take no place of the admission. `families` are the metrics. */
export function registerPublicRoutes(
  app: FastifyInstance,
  http: HttpDependencies,
  families: () => Promise<MetricFamily[]>,
): void {
  addJwks(app, http);
  addHealth(app, http);
  app.get(
    '/metrics',
    { schema: { tags, summary: 'Metrics in the text form of OpenMetrics', response: { 200: Type.String() } } },
    async (request, reply) => {
      await requireMetricsReader(http, request);
      return reply.type(openMetricsType).send(formatMetrics(await families()));
    },
  );
  app.get('/v1/openapi.json', { schema: { tags, summary: 'This document' } }, async () => app.swagger());
}

function addJwks(app: FastifyInstance, { deps }: HttpDependencies): void {
  const summary = 'The keys by which the secretstore verifies grants and leases (RFC 7517)';
  app.get('/.well-known/jwks.json', { schema: { tags, summary, response: { 200: Jwks } } }, async (_request, reply) => {
    void reply.header('cache-control', 'public, max-age=60');
    return deps.keys().jwks();
  });
}

function addHealth(app: FastifyInstance, { deps }: HttpDependencies): void {
  const findMissing = createReadiness(deps);
  const healthz = { tags, summary: 'Whether the service runs', response: { 200: Type.Object({}) } };
  app.get('/healthz', { schema: healthz }, async () => ({}));
  const readyz = {
    tags,
    summary: 'Whether the service has everything it needs',
    response: { 200: Readiness, 503: Readiness },
  };
  app.get('/readyz', { schema: readyz }, async (_request, reply) => {
    const missing = await findMissing();
    return reply.code(missing.length === 0 ? 200 : 503).send({ ready: missing.length === 0, missing });
  });
}

/** Admits callers on this host that no proxy speaks for, and administrators of all envs. */
async function requireMetricsReader(
  { deps, authenticateOperator }: HttpDependencies,
  request: FastifyRequest,
): Promise<void> {
  const { socket, headers } = request.raw;
  const isProxied = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
  if (/^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '') && !isProxied) return;
  const operator = await authenticateOperator(deps, bearerOf(request));
  if (operator === null) throw unauthenticated('bearer refused');
  requirePermission(operator, { role: 'admin', env: { every: true } });
}
