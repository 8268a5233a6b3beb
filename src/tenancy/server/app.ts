import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { registerAgentRoutes } from '../agents/routes.ts';
import { registerConsole } from '../console/consoleRoutes.ts';
import { answerError, answerOtherMethods, answerUnknownUrls, limitBodyTime } from '../http/errors.ts';
import { answerClientError, type HttpLimits, serverFactory, type TlsIdentity } from '../http/httpServer.ts';
import { observeRequests, requestIdOf, RequestMetrics, serviceMetrics, traceRequests } from './observability.ts';
import { compileSerializer, compileValidator, shareComponents } from '../http/validators.ts';
import { Admission } from '../core/limiter.ts';
import type { TenancyParts } from './createTenancy.ts';
import { documentInfo } from './openapi.ts';
import { operatorRoutes, registerOperatorRoutes } from './operatorRoutes.ts';
import { registerPublicRoutes } from './publicRoutes.ts';

/** What the HTTP interface is built from. */
export interface HttpParts {
  readonly parts: TenancyParts;
  /** Null for plain HTTP, on loopback only. */
  readonly tls: TlsIdentity | null;
  readonly limits: HttpLimits;
}

/** Largest JSON body in bytes. */
const MAX_JSON_BYTES = 1024 * 1024;

/** The HTTP interface, not listening yet. */
export async function createApp({ parts, tls, limits }: HttpParts): Promise<FastifyInstance> {
  const { max_requests, limits: caps } = parts.settings;
  const onError = answerError(parts.log, caps.bundle_bytes);
  const app = Fastify({
    serverFactory: serverFactory(tls, limits),
    clientErrorHandler: answerClientError,
    frameworkErrors: (...failure) => void onError(...failure),
    bodyLimit: MAX_JSON_BYTES,
    // Names that could change prototypes are not fields of any schema, which refuses them by their name.
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
  observeRequests(app, parts.log, metrics);
  if (parts.spans !== null) traceRequests(app, parts.spans, parts.clock);
  answerUnknownUrls(app);
  admission.guard(app);
  limitBodyTime(app, limits.bodyMs);
  await app.register(swagger, {
    openapi: documentInfo(parts.version),
    transformObject: (document) => shareComponents({ ...('openapiObject' in document && document.openapiObject) }),
  });
  const otherMethods = answerOtherMethods(app);
  registerPublicRoutes(app, parts, async () => [...metrics.families(), ...(await serviceMetrics(parts, admission))]);
  await registerAgentRoutes(app, parts);
  registerOperatorRoutes(app, parts, operatorRoutes);
  registerConsole(app, parts);
  // Streams of events would hold their connections for ever.
  app.addHook('preClose', async () => parts.changes.end());
  app.after(otherMethods);
  await app.ready();
  return app;
}
