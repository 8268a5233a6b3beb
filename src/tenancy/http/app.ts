import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance } from 'fastify';
import { registerConsole } from '../console/consoleRoutes.ts';
import { Admission } from './admission.ts';
import { registerAgentRoutes } from './agentRoutes.ts';
import { limitBodyTime } from './bodyTime.ts';
import { answerError } from './errors.ts';
import type { HttpDependencies } from './httpDependencies.ts';
import { answerClientError, serverFactory } from './httpServer.ts';
import { documentInfo } from './openapi.ts';
import { registerOperatorRoutes } from './operatorRoutes.ts';
import { registerPublicRoutes } from './publicRoutes.ts';
import { observeRequests } from './requestLog.ts';
import { RequestMetrics } from './requestMetrics.ts';
import { traceRequests } from './requestSpans.ts';
import { requestIdOf } from './requestId.ts';
import { compileSerializer } from './serializers.ts';
import { serviceMetrics } from './serviceMetrics.ts';
import { shareComponents } from './sharedComponents.ts';
import { answerOtherMethods, answerUnknownUrls } from './unknownRoute.ts';
import { compileValidator } from './validators.ts';

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
