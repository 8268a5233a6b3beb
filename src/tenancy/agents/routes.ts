import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { type ArchiveDependencies, openArchive } from '../bundles/archives.ts';
import { isUnchanged, wantedBytes } from '../bundles/bundle.rules.ts';
import { ApiError } from '../core/apiError.rules.ts';
import { bearerCodes, bearerOf, bodyErrors, failures, octetStream, success } from '../http/responses.ts';
import { compileAgentValidator } from '../http/validators.ts';
import type { BearerIdentity, LookUpBearer } from '../keys/bearerCache.ts';
import {
  BundleHeaders,
  BundleParams,
  CheckIn,
  LeaseAnswer,
  LeaseRequest,
  Orders,
  Report,
  Signatures,
} from '../../api/agentSchemas.ts';
import {
  agentUnauthenticated,
  giveLease,
  type LeaseDependencies,
  offerBundle,
  type OfferedBundle,
  offerSignatures,
  receiveReport,
} from './agents.ts';
import { checkIn, type CheckInDependencies } from './checkIn.ts';

/** Dependencies of the agents' calls. */
export interface AgentDependencies extends ArchiveDependencies, CheckInDependencies, LeaseDependencies {
  /** Looks up the owner of a bearer token at the secretstore, through a cache. */
  readonly lookUpBearer: LookUpBearer;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Owner of the bearer token of an agent's call. */
    token: BearerIdentity | null;
  }
}

/** Largest body of an agent's call in bytes: enough for a thousand containers, or for a report with its output. */
const MAX_AGENT_BYTES = 256 * 1024;
const common = { tags: ['agent'], security: [{ storeToken: [] }] };
const errors = { ...bodyErrors, 401: bearerCodes };
const withEnv = { ...errors, 409: 'AGENT_ENV_MISMATCH' };
const withHost = { ...errors, 409: 'AGENT_ENV_MISMATCH, HOST_CLONED' };

/** Registers the agents' calls in a separate scope, which ignores unknown fields. */
export async function registerAgentRoutes(app: FastifyInstance, deps: AgentDependencies): Promise<void> {
  await app.register(async (scope) => {
    scope.setValidatorCompiler(compileAgentValidator);
    // Names that could change prototypes are ignored like unknown fields.
    scope.removeContentTypeParser('application/json');
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'string' },
      scope.getDefaultJsonParser('remove', 'remove'),
    );
    scope.decorateRequest('token', null);
    // Authenticate before the body is read, so that callers without a token cannot send one.
    scope.addHook('onRequest', async (request) => {
      request.token = await deps.lookUpBearer(bearerOf(request), request.ip);
      tokenOf(request);
    });
    addCheckInRoute(scope, deps);
    addLeaseRoute(scope, deps);
    addReportRoute(scope, deps);
    addBundleRoute(scope, deps, tokenOf);
    addSignaturesRoute(scope, deps, tokenOf);
  });
}

/** Returns the token of a call; throws 401 if the secretstore does not know it. */
function tokenOf({ token }: FastifyRequest): BearerIdentity {
  if (token === null) throw agentUnauthenticated();
  return token;
}

function addCheckInRoute(scope: FastifyInstance, deps: AgentDependencies): void {
  const summary = 'Report the state of the host, and get the desired state';
  const response = { 200: success(200, Orders), ...failures(withHost) };
  scope.route<{ Body: CheckIn }>({
    method: 'POST',
    url: '/v1/agent/check-in',
    bodyLimit: MAX_AGENT_BYTES,
    config: { lane: 'agent' },
    schema: { ...common, operationId: 'check-in', summary, body: CheckIn, response },
    handler: (request) => checkIn(deps, { token: tokenOf(request), request: request.body, address: request.ip }),
  });
}

function addLeaseRoute(scope: FastifyInstance, deps: AgentDependencies): void {
  const summary = 'Get a JWT for one login to the secretstore';
  const response = { 200: success(200, LeaseAnswer, { noStore: true }), ...failures(errors) };
  scope.route<{ Body: LeaseRequest }>({
    method: 'POST',
    url: '/v1/agent/lease',
    bodyLimit: MAX_AGENT_BYTES,
    config: { lane: 'agent' },
    schema: { ...common, operationId: 'lease', summary, body: LeaseRequest, response },
    handler: async (request, reply) => {
      void reply.header('cache-control', 'no-store');
      return { lease: await giveLease(deps, { token: tokenOf(request), purpose: request.body.purpose }) };
    },
  });
}

function addReportRoute(scope: FastifyInstance, deps: AgentDependencies): void {
  const summary = 'Report the outcome of a tick';
  const description = 'A report that was already accepted changes nothing and is answered 204.';
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

interface BundleRequest {
  Params: Static<typeof BundleParams>;
}
type Exchange = { request: FastifyRequest<BundleRequest>; reply: FastifyReply };

const headers = {
  ETag: { type: 'string', pattern: '^"[0-9a-f]{64}"$', description: 'The digest in double quotes.' },
  'Accept-Ranges': { type: 'string', const: 'bytes' },
};
const location = { Location: { type: 'string', format: 'uri' } };
const contentRange = { 'Content-Range': { type: 'string', pattern: '^bytes ([0-9]+-[0-9]+|\\*)/[0-9]+$' } };
const response = {
  200: { description: 'The whole bundle.', headers, ...octetStream },
  206: { description: 'The range that was asked for.', headers: { ...headers, ...contentRange }, ...octetStream },
  302: {
    type: 'null',
    description: 'The bundle is in the bucket, where the link can be used for 15 minutes.',
    headers: location,
  },
  304: { type: 'null', description: 'The caller has it already.', headers },
  ...failures({
    401: bearerCodes,
    404: 'BUNDLE_NOT_FOUND',
    416: 'RANGE_NOT_SATISFIABLE',
    503: 'OVERLOADED, PEER_UNAVAILABLE, BUNDLE_MISSING',
  }),
};

/** Registers the download of bundles; `tokenOf` returns the token of a call. */
function addBundleRoute(
  scope: FastifyInstance,
  deps: AgentDependencies,
  tokenOf: (request: FastifyRequest) => BearerIdentity,
): void {
  const schema = {
    ...common,
    operationId: 'bundle',
    summary: 'Download a bundle',
    params: BundleParams,
    headers: BundleHeaders,
    response,
  };
  for (const method of ['HEAD', 'GET'] as const) {
    scope.route<BundleRequest>({
      method,
      url: '/v1/agent/bundles/:sha',
      config: { lane: 'download' },
      schema: { ...schema, hide: method === 'HEAD' },
      handler: async (request, reply) => {
        const offered = await offerBundle(deps, { token: tokenOf(request), sha256: request.params.sha });
        return sendBundle(deps, offered, { request, reply });
      },
    });
  }
}

/** Registers the list of a bundle's signatures; `tokenOf` returns the token of a call. */
function addSignaturesRoute(
  scope: FastifyInstance,
  deps: AgentDependencies,
  tokenOf: (request: FastifyRequest) => BearerIdentity,
): void {
  const response = {
    200: { 'x-response-description': 'Sigstore bundles, the oldest first; none without a signature.', ...Signatures },
    ...failures({ 401: bearerCodes, 404: 'BUNDLE_NOT_FOUND' }),
  };
  scope.route<BundleRequest>({
    method: 'GET',
    url: '/v1/agent/bundles/:sha/signatures',
    config: { lane: 'download' },
    schema: {
      ...common,
      operationId: 'signatures',
      summary: 'List the signatures of a bundle',
      params: BundleParams,
      response,
    },
    handler: async (request, reply) => {
      const texts = await offerSignatures(deps, { token: tokenOf(request), sha256: request.params.sha });
      return reply.type('application/json; charset=utf-8').send(`[${texts.join()}]`);
    },
  });
}

async function sendBundle(deps: AgentDependencies, offered: OfferedBundle, { request, reply }: Exchange) {
  const { sha256, sizeBytes } = offered;
  const etag = `"${sha256}"`;
  void reply.headers({ etag, 'accept-ranges': 'bytes' });
  const { range, 'if-range': ifRange, 'if-none-match': ifNoneMatch } = request.headers;
  if (isUnchanged(ifNoneMatch, etag)) return reply.code(304).send();
  const link = offered.mayBeSentOn ? await deps.bundles.link(sha256) : null;
  if (link !== null) return reply.code(302).headers({ location: link, 'cache-control': 'no-store' }).send();
  const wanted = wantedBytes({ range, ifRange: headerOf(ifRange) }, { etag, size: sizeBytes });
  if (wanted === 'unsatisfiable') {
    void reply.header('content-range', `bytes */${sizeBytes}`);
    const message = `the bundle has ${sizeBytes} bytes`;
    throw new ApiError({ status: 416, code: 'RANGE_NOT_SATISFIABLE', message });
  }
  const length = wanted === null ? sizeBytes : wanted.end - wanted.start + 1;
  void reply.headers({ 'content-type': 'application/octet-stream', 'content-length': length });
  if (wanted !== null) void reply.code(206).header('content-range', `bytes ${wanted.start}-${wanted.end}/${sizeBytes}`);
  return reply.send(request.method === 'HEAD' ? undefined : await openArchive(deps, sha256, wanted ?? undefined));
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join() : value;
}
