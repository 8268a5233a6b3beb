import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { LogLine } from '../services/dependencies.ts';
import type { RequestMetrics } from './requestMetrics.ts';

/** Counts every request and logs it: by its route's parameters, never by its URL, whose query a caller may have put a secret in. */
export function observeRequests(app: FastifyInstance, log: LogLine, metrics: RequestMetrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, url = 'unknown' } = request.routeOptions;
    const ms = reply.elapsedTime;
    metrics.add(String(method), url, { status: reply.statusCode, seconds: ms / 1000 });
    log('info', 'request', {
      request_id: request.id,
      method: request.method,
      route: url,
      ...(request.params as Record<string, string>),
      status: reply.statusCode,
      ms: Math.round(ms * 10) / 10,
      caller: callerOf(request),
      address: request.ip,
    });
    done();
  });
}

function callerOf({ operator, token }: FastifyRequest): string | null {
  return operator?.name ?? token?.backendId ?? null;
}
