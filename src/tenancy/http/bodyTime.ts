import type { FastifyInstance } from 'fastify';
import { ApiError } from '../services/apiError.ts';
import { mayHaveBody } from './requestBody.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is handed on as a stream, and may take as long as the server permits. */
    isStreamed?: boolean;
  }
}

/** Methods whose bodies nobody reads. */
const bodyless = ['GET', 'HEAD', 'TRACE'];

/** Answers 408 to a JSON body that has not arrived within `limitMs` milliseconds. */
export function limitBodyTime(app: FastifyInstance, limitMs: number): void {
  app.addHook('preParsing', async (request, reply, payload) => {
    const isRead = !bodyless.includes(request.method) && mayHaveBody(request);
    // Most bodies have arrived together with their head.
    if (!isRead || request.raw.complete || request.routeOptions.config.isStreamed) return payload;
    const timer = setTimeout(() => {
      // Whoever reads the body fails with this error, and its answer closes the connection.
      if (payload.listenerCount('error') > 0 && !reply.raw.headersSent) payload.emit('error', late());
    }, limitMs);
    payload.once('end', () => clearTimeout(timer));
    reply.raw.once('close', () => clearTimeout(timer));
    return payload;
  });
}

function late(): Error {
  const message = 'the body did not arrive in time';
  return Object.assign(new ApiError({ status: 408, code: 'REQUEST_TIMEOUT', message }), { statusCode: 408 });
}
