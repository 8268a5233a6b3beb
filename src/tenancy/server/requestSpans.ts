import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseTraceparent } from '../../protocol/traceContext.ts';
import type { Span } from '../../telemetry/span.ts';
import type { SpanQueue } from '../../telemetry/spanQueue.ts';

/**
 * Tells the spans of the calls of agents and operators (spec §21.4), each below the span of its caller if there is one; a
 * trace that the caller does not keep is not told. `clock` is in milliseconds since 1970.
 */
export function traceRequests(app: FastifyInstance, spans: Pick<SpanQueue, 'add'>, clock: () => number): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { url } = request.routeOptions;
    const parent = parseTraceparent(request.headers.traceparent);
    if (url?.startsWith('/v1/') && parent?.isSampled !== false)
      spans.add({
        traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
        parentSpanId: parent?.spanId ?? null,
        startMs: clock() - reply.elapsedTime,
        ...describe(request, reply, url),
      });
    done();
  });
}

/** By its route, never by its URL, whose parameters may be names of secrets. */
function describe(
  request: FastifyRequest,
  reply: FastifyReply,
  route: string,
): Omit<Span, 'traceId' | 'parentSpanId' | 'startMs'> {
  const { method, token, id } = request;
  const { statusCode: status, elapsedTime: durationMs } = reply;
  return {
    ...{ spanId: randomBytes(8).toString('hex'), kind: 'server', name: `${method} ${route}`, durationMs, events: [] },
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'deployd.request_id': id,
      ...(token && { 'deployd.backend': token.backendId }),
    },
    error: status < 500 ? null : String(status),
  };
}
