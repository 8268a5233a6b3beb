import { METHODS } from 'node:http';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { ApiError } from '../services/apiError.ts';

/** Methods of HTTP that routes may have; a request with any other one is not found. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'];

/** Answers 404 to unknown URLs, before a body is read. */
export function answerUnknownUrls(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw new ApiError({ status: 404, code: 'NOT_FOUND', message: 'there is no such resource' });
  });
}

/** Collects the routes that are registered from now on; the result answers 405 to their other methods. */
export function answerOtherMethods(app: FastifyInstance): () => void {
  const known = new Map<string, string[]>();
  app.addHook('onRoute', ({ method, url }: RouteOptions) => {
    known.set(url, [...(known.get(url) ?? []), method].flat());
  });
  for (const method of methods) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  return () => {
    for (const [url, allowed] of [...known]) {
      const others = methods.filter((method) => !allowed.includes(method) && METHODS.includes(method));
      app.route({
        method: others,
        url,
        schema: { hide: true },
        onRequest: async (_request, reply) => {
          void reply.header('allow', allowed.join(', '));
          throw new ApiError({ status: 405, code: 'METHOD_NOT_ALLOWED', message: `allowed: ${allowed.join(', ')}` });
        },
        handler: async () => null,
      });
    }
  };
}
