import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { registerAgentRoutes } from '../agents/routes.ts';
import { registerConsole } from '../console/consoleRoutes.ts';
import { answerError, answerOtherMethods, answerUnknownUrls, limitBodyTime } from '../http/errors.ts';
import { answerClientError, type HttpDependencies, serverFactory } from '../http/httpServer.ts';
import { observeRequests, requestIdOf, RequestMetrics } from '../http/requestLog.ts';
import { compileSerializer, compileValidator, shareComponents } from '../http/validators.ts';
import { Admission } from './admission.ts';
import { documentInfo } from './openapi.ts';
import { registerOperatorRoutes } from './operatorRoutes.ts';
import { registerPublicRoutes } from './publicRoutes.ts';
import { serviceMetrics, traceRequests } from './observability.ts';

/** Largest JSON body in bytes. */
const MAX_JSON_BYTES = 1024 * 1024;

/** The HTTP interface, not listening yet. */
export async function createApp({ deps, tls, limits }: HttpDependencies): Promise<FastifyInstance> {
  const { max_requests, limits: caps } = deps.settings;
  const onError = answerError(deps.log, caps.bundle_bytes);
  const app = Fastify({
    serverFactory: serverFactory(tls, limits),
    clientErrorHandler: answerClientError,
    frameworkErrors: (...failure) => void onError(...failure),
    bodyLimit: MAX_JSON_BYTES,
    // Names that could change prototypes are no fields of any schema, which refuses them by their name.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    genReqId: requestIdOf,
    // Behind a proxy, which is on loopback, the audit log names the caller and not the proxy.
    trustProxy: 'loopback',
    routerOptions: { maxParamLength: 200, caseSensitive: true },
  });
  app.setErrorHandler(onError);
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(compileSerializer);
  app.removeContentTypeParser('text/plain');
  const admission = new Admission(max_requests);
  const metrics = new RequestMetrics();
  observeRequests(app, deps.log, metrics);
  if (deps.spans !== null) traceRequests(app, deps.spans, deps.clock);
  answerUnknownUrls(app);
  admission.guard(app);
  limitBodyTime(app, limits.bodyMs);
  await app.register(swagger, {
    openapi: documentInfo(deps.version),
    transformObject: (document) => shareComponents({ ...('openapiObject' in document && document.openapiObject) }),
  });
  const otherMethods = answerOtherMethods(app);
  registerPublicRoutes(app, deps, async () => [...metrics.families(), ...(await serviceMetrics(deps, admission))]);
  await registerAgentRoutes(app, deps);
  registerOperatorRoutes(app, deps);
  registerConsole(app, deps);
  // Streams of events would hold their connections for ever.
  app.addHook('preClose', async () => deps.changes.end());
  app.after(otherMethods);
  await app.ready();
  return app;
}
