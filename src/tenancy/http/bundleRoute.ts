import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { BearerIdentity } from '../credentials/bearerCache.ts';
import { isUnchanged, wantedBytes } from '../rules/byteRange.ts';
import { offerBundle, offerSignatures, type OfferedBundle } from '../services/agents/bundle.ts';
import { ApiError } from '../services/apiError.ts';
import { openArchive } from '../services/bundles/openArchive.ts';
import type { Dependencies } from '../services/dependencies.ts';
import { bearerCodes } from './bearer.ts';
import { failures, octetStream } from './responses.ts';
import { BundleHeaders, BundleParams, Signatures } from './schemas/agent.ts';

interface BundleRequest {
  Params: Static<typeof BundleParams>;
}
type Exchange = { request: FastifyRequest<BundleRequest>; reply: FastifyReply };

const common = { tags: ['agent'], security: [{ storeToken: [] }] };
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

/** Registers the download of bundles; `tokenOf` gives the token of a call. */
export function addBundleRoute(
  scope: FastifyInstance,
  deps: Dependencies,
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

/** Registers the list of a bundle's signatures; `tokenOf` gives the token of a call. */
export function addSignaturesRoute(
  scope: FastifyInstance,
  deps: Dependencies,
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

async function sendBundle(deps: Dependencies, offered: OfferedBundle, { request, reply }: Exchange) {
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
