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

/** The parts of the HTTP interface. */
export interface HttpParts {
  readonly parts: TenancyParts;
  /** Null for plain HTTP, on loopback only. */
  readonly tls: TlsIdentity | null;
  readonly limits: HttpLimits;
}

/** Largest JSON body in bytes. */
const MAX_JSON_BYTES = 1024 * 1024;

/** Creates the HTTP interface, which is not listening yet. */
export async function createApp({ parts, tls, limits }: HttpParts): Promise<FastifyInstance> {
  const { max_requests, limits: caps } = parts.settings;
  const onError = answerError(parts.log, caps.bundle_bytes);
  const app = Fastify({
    serverFactory: serverFactory(tls, limits),
    clientErrorHandler: answerClientError,
    frameworkErrors: (...failure) => void onError(...failure),
    bodyLimit: MAX_JSON_BYTES,
    // Names that could change prototypes are not in any schema, so validation rejects them by name.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    genReqId: requestIdOf,
    // Behind a proxy on loopback, the audit log contains the caller's address and not the proxy's.
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
  // Otherwise event streams would keep their connections open forever.
  app.addHook('preClose', async () => parts.changes.end());
  app.after(otherMethods);
  await app.ready();
  return app;
}
