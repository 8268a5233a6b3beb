import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BearerIdentity } from '../credentials/bearerCache.ts';
import { agentUnauthenticated } from '../services/agents/agent.ts';
import { checkIn } from '../services/agents/checkIn.ts';
import { giveLease } from '../services/agents/lease.ts';
import { receiveReport } from '../services/agents/receiveReport.ts';
import type { Dependencies } from '../services/dependencies.ts';
import { addBundleRoute, addSignaturesRoute } from './bundleRoute.ts';
import { bearerCodes, bearerOf } from './bearer.ts';
import { bodyErrors, failures, success } from './responses.ts';
import { CheckIn, LeaseAnswer, LeaseRequest, Orders, Report } from './schemas/agent.ts';
import { compileAgentValidator } from './validators.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose token the bearer of an agent's call is. */
    token: BearerIdentity | null;
  }
}

/** Largest body of an agent in bytes: a thousand containers, or a report with its output. */
const MAX_AGENT_BYTES = 256 * 1024;
const common = { tags: ['agent'], security: [{ storeToken: [] }] };
const errors = { ...bodyErrors, 401: bearerCodes };
const withEnv = { ...errors, 409: 'AGENT_ENV_MISMATCH' };

/** Registers the calls of agents in a scope of their own, where unknown fields are ignored. */
export async function registerAgentRoutes(app: FastifyInstance, deps: Dependencies): Promise<void> {
  await app.register(async (scope) => {
    scope.setValidatorCompiler(compileAgentValidator);
    // The names that could change prototypes are no known fields either.
    scope.removeContentTypeParser('application/json');
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'string' },
      scope.getDefaultJsonParser('remove', 'remove'),
    );
    scope.decorateRequest('token', null);
    // Before the body is read: whoever has no token sends none.
    scope.addHook('onRequest', async (request) => {
      request.token = await deps.lookUpBearer(bearerOf(request));
      tokenOf(request);
    });
    addCheckInRoute(scope, deps);
    addLeaseRoute(scope, deps);
    addReportRoute(scope, deps);
    addBundleRoute(scope, deps, tokenOf);
    addSignaturesRoute(scope, deps, tokenOf);
  });
}

/** The token of a call; throws 401 if the secretstore does not know it. */
function tokenOf({ token }: FastifyRequest): BearerIdentity {
  if (token === null) throw agentUnauthenticated();
  return token;
}

function addCheckInRoute(scope: FastifyInstance, deps: Dependencies): void {
  const summary = 'Tell how the host is and learn what it should be';
  const response = { 200: success(200, Orders), ...failures(withEnv) };
  scope.route<{ Body: CheckIn }>({
    method: 'POST',
    url: '/v1/agent/check-in',
    bodyLimit: MAX_AGENT_BYTES,
    config: { lane: 'agent' },
    schema: { ...common, operationId: 'check-in', summary, body: CheckIn, response },
    handler: (request) => checkIn(deps, { token: tokenOf(request), request: request.body }),
  });
}

function addLeaseRoute(scope: FastifyInstance, deps: Dependencies): void {
  const summary = 'Get a JWT for one login to the secretstore';
  const response = { 200: success(200, LeaseAnswer, { noStore: true }), ...failures(errors) };
  scope.route({
    method: 'POST',
    url: '/v1/agent/lease',
    bodyLimit: MAX_AGENT_BYTES,
    config: { lane: 'agent' },
    schema: { ...common, operationId: 'lease', summary, body: LeaseRequest, response },
    handler: async (request, reply) => {
      void reply.header('cache-control', 'no-store');
      return { lease: await giveLease(deps, tokenOf(request)) };
    },
  });
}

function addReportRoute(scope: FastifyInstance, deps: Dependencies): void {
  const summary = 'Tell how a tick came out';
  const description = 'A report that was accepted before changes nothing, and is answered 204.';
  const response = { 202: success(202, null), 204: success(204, null), ...failures(withEnv) };
  scope.route<{ Body: Report }>({
    method: 'POST',
    url: '/v1/agent/report',
    bodyLimit: MAX_AGENT_BYTES,
    config: { lane: 'agent' },
    schema: { ...common, operationId: 'report', summary, description, body: Report, response },
    handler: async (request, reply) => {
      const isNew = await receiveReport(deps, { token: tokenOf(request), report: request.body });
      return reply.code(isNew ? 202 : 204).send();
    },
  });
}
