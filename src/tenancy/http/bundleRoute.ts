import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type, type Static } from 'typebox';
import type { BearerIdentity } from '../credentials/bearerCache.ts';
import { isUnchanged, wantedBytes } from '../rules/byteRange.ts';
import { offerBundle, openBundle, type OfferedBundle } from '../services/agents/bundle.ts';
import { ApiError } from '../services/apiError.ts';
import type { Dependencies } from '../services/dependencies.ts';
import { failures } from './failures.ts';
import { BundleParams } from './schemas/agent.ts';

interface BundleRequest {
  Params: Static<typeof BundleParams>;
}
type Exchange = { request: FastifyRequest<BundleRequest>; reply: FastifyReply };

const octetStream = { content: { 'application/octet-stream': { schema: Type.Any() } } };
const response = {
  200: { description: 'The whole bundle.', ...octetStream },
  206: { description: 'The range that was asked for.', ...octetStream },
  304: Type.Null({ description: 'The caller has it already.' }),
  ...failures({ 404: 'BUNDLE_NOT_FOUND', 416: 'RANGE_NOT_SATISFIABLE', 503: 'OVERLOADED, BUNDLE_MISSING' }),
};

/** Registers the download of bundles; `tokenOf` gives the token of a call. */
export function addBundleRoute(
  scope: FastifyInstance,
  deps: Dependencies,
  tokenOf: (request: FastifyRequest) => BearerIdentity,
): void {
  const summary = 'Download a bundle';
  scope.route<BundleRequest>({
    method: ['GET', 'HEAD'],
    url: '/v1/agent/bundles/:sha',
    config: { lane: 'download' },
    schema: {
      tags: ['agent'],
      security: [{ storeToken: [] }],
      operationId: 'bundle',
      summary,
      params: BundleParams,
      response,
    },
    handler: async (request, reply) => {
      const offered = await offerBundle(deps, { token: tokenOf(request), sha256: request.params.sha });
      return sendBundle(deps, offered, { request, reply });
    },
  });
}

async function sendBundle(deps: Dependencies, { sha256, sizeBytes }: OfferedBundle, { request, reply }: Exchange) {
  const etag = `"${sha256}"`;
  void reply.headers({ etag, 'accept-ranges': 'bytes' });
  const { range, 'if-range': ifRange, 'if-none-match': ifNoneMatch } = request.headers;
  if (isUnchanged(ifNoneMatch, etag)) return reply.code(304).send();
  const wanted = wantedBytes({ range, ifRange: headerOf(ifRange) }, { etag, size: sizeBytes });
  if (wanted === 'unsatisfiable') {
    void reply.header('content-range', `bytes */${sizeBytes}`);
    const message = `the bundle has ${sizeBytes} bytes`;
    throw new ApiError({ status: 416, code: 'RANGE_NOT_SATISFIABLE', message });
  }
  const length = wanted === null ? sizeBytes : wanted.end - wanted.start + 1;
  void reply.headers({ 'content-type': 'application/octet-stream', 'content-length': length });
  if (wanted !== null) void reply.code(206).header('content-range', `bytes ${wanted.start}-${wanted.end}/${sizeBytes}`);
  return reply.send(request.method === 'HEAD' ? undefined : await openBundle(deps, sha256, wanted));
}

function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join() : value;
}
