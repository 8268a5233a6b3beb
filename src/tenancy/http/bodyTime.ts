import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../services/apiError.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is handed on as a stream, and may take as long as the server permits. */
    isStreamed?: boolean;
  }
}

/** Milliseconds in which a JSON body must have arrived. */
const BODY_TIME_MS = 20_000;

/** Answers 408 to a JSON body that trickles in. */
export function limitBodyTime(app: FastifyInstance, limitMs = BODY_TIME_MS): void {
  app.addHook('preParsing', async (request, reply, payload) => {
    if (request.routeOptions.config.isStreamed || !hasBody(request)) return payload;
    const timer = setTimeout(() => {
      // Whoever reads the body fails with this error, and its answer closes the connection.
      if (!reply.sent) payload.emit('error', late());
    }, limitMs);
    payload.once('end', () => clearTimeout(timer));
    reply.raw.once('close', () => clearTimeout(timer));
    return payload;
  });
}

/** True if a body may come that is read. */
function hasBody({ method, headers }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
}

function late(): Error {
  const message = 'the body did not arrive in time';
  return Object.assign(new ApiError({ status: 408, code: 'REQUEST_TIMEOUT', message }), { statusCode: 408 });
}
