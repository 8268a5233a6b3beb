import type { LogLine } from '../core/log.ts';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import type { TObject } from 'typebox';
import { backendRoutes, restoreRoutes } from '../backends/routes.ts';
import { bundleRoutes, signatureRoutes } from '../bundles/routes.ts';
import { ApiError, type ApiErrorFields } from '../core/apiError.rules.ts';
import { recordFailedAct, recordRefusedAct } from '../core/audit.ts';
import { type AuditCaller, type Operator, permissionsWith, requirePermission } from '../core/permission.rules.ts';
import type { Lane } from '../core/limiter.ts';
import { envRoutes } from '../envs/routes.ts';
import {
  bodyErrors,
  eventStreamType,
  failures,
  octetStream,
  serverSentEvents,
  success,
  unauthenticated,
} from '../http/responses.ts';
import { errorFields } from '../http/errors.ts';
import {
  type AnyOperatorRoute,
  eventStream,
  octets,
  type Octets,
  type OperatorCall,
  type OperatorRoute,
} from '../http/operatorRoute.ts';
import { authenticateCaller, type SessionDependencies, type TokenDependencies } from '../people/authenticate.ts';
import { auditRoutes, eventRoutes, operatorAccountRoutes, sessionRoutes } from '../people/routes.ts';
import { rolloutRoutes } from '../rollouts/routes.ts';
import { secretRoutes } from '../secrets/routes.ts';
import type { Role } from '../store/database.ts';
import { webhookRoutes } from '../webhooks/routes.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller of the operators' API. */
    operator: Operator | null;
  }
}

/** Statuses of errors that the audit log records. */
const auditedStatuses = [403, 409, 422];

/** Registers the routes of the operators' API. All calls are authenticated and authorized here, and refused
 * ones audited; what succeeds writes its own entry. */
export function registerOperatorRoutes<Deps extends SessionDependencies>(
  app: FastifyInstance,
  deps: Deps,
  routes: readonly OperatorRoute<Deps>[],
): void {
  app.decorateRequest('operator', null);
  for (const route of routes) {
    const add = (scope: FastifyInstance) =>
      scope.route({
        method: route.method,
        url: route.url,
        // A HEAD would do what the GET does.
        exposeHeadRoute: !isChange(route),
        schema: schemaOf(route),
        config: { lane: laneOf(route), isStreamed: route.body === octets },
        // Authenticate before the body is read, so that callers without a token cannot send one.
        onRequest: async (request) =>
          void (request.operator = await authenticateCaller(deps, request, isChange(route))),
        handler: (request, reply) => handle(deps, route, { request, reply, operator: operatorOf(request) }),
      });
    if (route.body !== octets) add(app);
    else void app.register(async (scope) => void add(acceptOctets(scope)));
  }
}

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
  operator: Operator;
}

function operatorOf({ operator }: FastifyRequest): Operator {
  if (operator === null) throw unauthenticated('bearer refused');
  return operator;
}

async function handle<Deps extends TokenDependencies>(
  deps: Deps,
  route: OperatorRoute<Deps>,
  exchange: Exchange,
): Promise<unknown> {
  const { reply } = exchange;
  const call = callOf(route, exchange);
  if (route.noStore) void reply.header('cache-control', 'no-store');
  try {
    const env = route.everyEnv ? ({ every: true } as const) : envOf(route, call);
    requirePermission(call.operator, { role: route.role, env }, route.env === undefined ? 'env' : null);
    const { status, body } = await route.handle(deps, withRole(call, route.role));
    void reply.code(status);
    return await sendAnswer(deps, route, { exchange, body });
  } catch (error) {
    await auditFailure(deps, { route, call, fields: errorFields(error as Error) });
    throw error;
  }
}

/**
 * Returns the call with only those permissions that include its role, so that later checks of a row's environment use
 * only these.
 */
function withRole(call: OperatorCall, role: Role): OperatorCall {
  const { operator } = call;
  const { permissions: everyPermission } = operator;
  return { ...call, operator: { ...operator, everyPermission, permissions: permissionsWith(everyPermission, role) } };
}

/** True for a route that answers with this kind of body. */
function answersWith({ responses }: AnyOperatorRoute, kind: typeof octets | typeof eventStream): boolean {
  return Object.values(responses).includes(kind);
}

/** The lane of a route: answers with bytes or events take long. */
function laneOf(route: AnyOperatorRoute): Lane {
  if (answersWith(route, eventStream)) return 'stream';
  if (route.body === octets) return 'push';
  return answersWith(route, octets) ? 'download' : 'operator';
}

function sendAnswer(
  deps: { log: LogLine },
  route: AnyOperatorRoute,
  { exchange, body }: { exchange: Exchange; body: unknown },
): FastifyReply {
  if (answersWith(route, octets)) return sendOctets(exchange.reply, body as Octets);
  if (answersWith(route, eventStream)) return sendEvents(deps, exchange, body as AsyncIterable<string>);
  return exchange.reply.send(body);
}

/**
 * Sends events. Asks proxies not to buffer, and callers not to reuse the connection, which would not be idle when the
 * service stops.
 */
function sendEvents(
  { log }: { log: LogLine },
  { request, reply }: Exchange,
  events: AsyncIterable<string>,
): FastifyReply {
  const headers = {
    'content-type': eventStreamType,
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    connection: 'close',
  };
  const stream = Readable.from(events);
  // The status was already sent, so no error handler is called.
  stream.once('error', ({ message }) =>
    log('warn', `a stream of events has failed: ${message}`, { request_id: request.id }),
  );
  return reply.headers(headers).send(stream);
}

function sendOctets(reply: FastifyReply, { bytes, size }: Octets): FastifyReply {
  return reply.headers({ 'content-type': 'application/octet-stream', 'content-length': size }).send(bytes);
}

function callOf({ act }: AnyOperatorRoute, { request, reply, operator }: Exchange): OperatorCall {
  const gone = new AbortController();
  // The caller may have disconnected during authentication.
  if (reply.raw.destroyed) gone.abort();
  else reply.raw.once('close', () => gone.abort());
  const caller: AuditCaller = {
    actor: operator.name,
    act: act ?? '',
    address: request.ip,
    requestId: request.id,
  };
  const { params, query, body } = request;
  return { operator, params, query, body, caller, signal: gone.signal };
}

/** Records a refused action, or a failed one that may have changed something at a peer. */
async function auditFailure(
  deps: TokenDependencies,
  { route, call, fields }: { route: AnyOperatorRoute; call: OperatorCall; fields: ApiErrorFields },
): Promise<void> {
  const { status, code, env, auditCode } = fields;
  const hasFailed = status >= 500;
  const isRefused = auditCode !== undefined || auditedStatuses.includes(status);
  if (route.act === null || !(hasFailed ? isChange(route) : isRefused)) return;
  const target = route.target?.(call) ?? Object.values(call.params as Record<string, string>).at(-1) ?? '';
  const refused = { ...call.caller, target, env: env ?? envOf(route, call), result: auditCode ?? code };
  await (hasFailed ? recordFailedAct : recordRefusedAct)(deps, refused).catch((error: unknown) => {
    if (!hasFailed) throw error;
    // The caller gets the first error, which often comes from the store too.
    deps.log('warn', `a failed act is not in the audit log: ${String(error)}`, { request_id: call.caller.requestId });
  });
}

/** True for a call that changes or reveals something. */
function isChange({ method, noStore = false }: AnyOperatorRoute): boolean {
  return method !== 'GET' || noStore;
}

/** The environment that a call contains; null if it depends on a row, and the service compares it. */
function envOf(route: AnyOperatorRoute, call: OperatorCall): string | null {
  if (route.env !== undefined) return route.env(call);
  const { params, query, body } = call;
  for (const part of [params, query, body]) {
    const env: unknown = typeof part === 'object' && part !== null && 'env' in part ? part.env : null;
    if (typeof env === 'string') return env;
  }
  return null;
}

/** Passes the body on as a stream; the service decides how much of it to read. */
function acceptOctets(scope: FastifyInstance): FastifyInstance {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
  scope.addHook('preValidation', async ({ body }) => {
    if (body === undefined)
      throw new ApiError({ status: 400, code: 'REQUEST_INVALID', message: 'body must be application/octet-stream' });
  });
  return scope;
}

function schemaOf(route: AnyOperatorRoute): FastifySchema {
  const { params, query, body, summary, description } = route;
  return {
    summary,
    tags: ['operators'],
    operationId: `${route.method.toLowerCase()}${route.url.replace(/[/:-]+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    description: [`Role: ${route.role}.`, ...(description === undefined ? [] : [description])].join(' '),
    security: [{ operatorToken: [] }, { session: [] }],
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body: body === octets ? octetStream : body }),
    response: {
      ...successes(route),
      ...failures({
        403: isChange(route) ? 'FORBIDDEN, CROSS_SITE_REFUSED' : 'FORBIDDEN',
        ...(body && bodyErrors),
        ...(namesEnv(route) && { 404: 'ENV_NOT_FOUND' }),
        ...route.errors,
        ...(namesEnv(route) && route.errors?.[404] !== undefined && { 404: withEnvMissing(route.errors[404]) }),
      }),
    },
  };
}

/** True if a field of the call names an environment, which is missing for callers without a role in it. */
function namesEnv({ params, query, body }: AnyOperatorRoute): boolean {
  return [params, query, body].some((part) => typeof part === 'object' && 'env' in (part as TObject).properties);
}

function withEnvMissing(codes: string): string {
  return codes.split(', ').includes('ENV_NOT_FOUND') ? codes : `${codes}, ENV_NOT_FOUND`;
}

function successes({ responses, noStore }: AnyOperatorRoute): Record<string, object> {
  const entries = Object.entries(responses).map(([status, schema]) => {
    if (schema === octets) return [status, { description: 'The bytes.', ...octetStream }];
    if (schema === eventStream)
      return [status, { description: 'Events until the caller goes away.', ...serverSentEvents }];
    return [status, success(Number(status), schema ?? null, { noStore })];
  });
  return Object.fromEntries(entries) as Record<string, object>;
}

/** All routes of the operators' API. */
export const operatorRoutes = [
  ...operatorAccountRoutes,
  ...sessionRoutes,
  ...envRoutes,
  ...restoreRoutes,
  ...rolloutRoutes,
  ...secretRoutes,
  ...backendRoutes,
  ...bundleRoutes,
  ...signatureRoutes,
  ...webhookRoutes,
  ...auditRoutes,
  ...eventRoutes,
];
