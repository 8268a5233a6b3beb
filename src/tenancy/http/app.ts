import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { answerError } from './errors.ts';
import type { HttpDependencies } from './httpDependencies.ts';
import { documentInfo } from './openapi.ts';
import { registerOperatorRoutes } from './operatorRoutes.ts';
import { requestIdOf } from './requestId.ts';
import { answerOtherMethods, answerUnknownUrls } from './unknownRoute.ts';
import { compileValidator } from './validators.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which places of the admission a route takes. */
    lane?: 'agent' | 'operator';
  }
}

/** Largest JSON body in bytes. */
const MAX_JSON_BYTES = 1024 * 1024;

/** The HTTP interface, not listening yet; `serverOptions` are those of the listening server. */
export async function createApp(
  http: HttpDependencies,
  serverOptions: FastifyServerOptions = {},
): Promise<FastifyInstance> {
  const app = Fastify({
    ...serverOptions,
    bodyLimit: MAX_JSON_BYTES,
    genReqId: requestIdOf,
    // Behind a proxy, which is on loopback, the audit log names the caller and not the proxy.
    trustProxy: 'loopback',
    routerOptions: { maxParamLength: 200, caseSensitive: true },
  });
  app.setErrorHandler(answerError(http.deps.log));
  app.setValidatorCompiler(compileValidator);
  app.removeContentTypeParser('text/plain');
  answerUnknownUrls(app);
  await app.register(swagger, { openapi: documentInfo(http.deps.version) });
  const otherMethods = answerOtherMethods(app);
  registerOperatorRoutes(app, http);
  app.after(otherMethods);
  await app.ready();
  return app;
}
