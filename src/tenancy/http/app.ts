import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { Admission } from './admission.ts';
import { registerAgentRoutes } from './agentRoutes.ts';
import { limitBodyTime } from './bodyTime.ts';
import { answerError } from './errors.ts';
import type { HttpDependencies } from './httpDependencies.ts';
import { documentInfo } from './openapi.ts';
import { registerOperatorRoutes } from './operatorRoutes.ts';
import { registerPublicRoutes } from './publicRoutes.ts';
import { observeRequests } from './requestLog.ts';
import { RequestMetrics } from './requestMetrics.ts';
import { serviceMetrics } from './serviceMetrics.ts';
import { requestIdOf } from './requestId.ts';
import { answerOtherMethods, answerUnknownUrls } from './unknownRoute.ts';
import { compileValidator } from './validators.ts';

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
  const admission = new Admission(http.deps.settings.max_requests);
  const metrics = new RequestMetrics();
  observeRequests(app, http.deps.log, metrics);
  answerUnknownUrls(app);
  admission.guard(app);
  limitBodyTime(app);
  await app.register(swagger, { openapi: documentInfo(http.deps.version) });
  const otherMethods = answerOtherMethods(app);
  registerPublicRoutes(app, http, async () => [...metrics.families(), ...(await serviceMetrics(http.deps, admission))]);
  await registerAgentRoutes(app, http.deps);
  registerOperatorRoutes(app, http);
  app.after(otherMethods);
  await app.ready();
  return app;
}
