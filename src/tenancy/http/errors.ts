import { METHODS } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { ApiError, type ApiErrorFields } from '../core/apiError.rules.ts';
import type { LogLine } from '../core/log.ts';
import { PeerError } from '../peers/bundleStorage.ts';
import type { ErrorBody } from '../../api/commonSchemas.ts';
import { isStoreFailure } from '../store/openStore.ts';

/** Error codes of statuses that the framework itself returns. */
const frameworkCodes: Record<number, string> = {
  400: 'REQUEST_INVALID',
  408: 'REQUEST_TIMEOUT',
  413: 'REQUEST_TOO_LARGE',
  415: 'MEDIA_TYPE_UNSUPPORTED',
  417: 'REQUEST_INVALID',
};

/** Seconds after which callers may retry when the store has failed. */
const STORE_RETRY_S = 5;

/**
 * Sends an error in the form of the API; an unexpected error is logged and sent without details. If the body was not
 * read, closes the connection, unless at most `drainBytes` of it remain.
 */
export function answerError(log: LogLine, drainBytes: number) {
  return (error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const fields = errorFields(error);
    if (fields.status >= 500 && !(error instanceof ApiError)) {
      const level = fields.status === 503 ? 'warn' : 'error';
      log(level, `${request.method} ${request.routeOptions.url ?? '-'} failed: ${error.message}`, {
        request_id: request.id,
        ...(level === 'error' && { stack: error.stack }),
      });
    }
    if (mayHaveBody(request) && bodyLeft(request) > drainBytes) void reply.header('connection', 'close');
    if (fields.status === 401) void reply.header('www-authenticate', 'Bearer');
    if (fields.retryAfterS !== undefined) void reply.header('retry-after', fields.retryAfterS);
    return reply.code(fields.status).send(errorBody(fields));
  };
}

/** The body of an error. */
export function errorBody({ code, message, refusals }: ApiErrorFields): ErrorBody {
  return { error: { code, message, ...(refusals && { refusals: [...refusals] }) } };
}

function unavailable(what: string, retryAfterS: number): ApiErrorFields {
  return { status: 503, code: 'PEER_UNAVAILABLE', message: `the ${what} cannot be used at the moment`, retryAfterS };
}

/** Converts an error to the fields that the API returns; an unexpected error has no details. */
export function errorFields(error: Error): ApiErrorFields {
  if (error instanceof ApiError) return error.fields;
  if (error instanceof PeerError) return unavailable(error.peer, error.retryAfterS);
  if (isStoreFailure(error)) return unavailable('store', STORE_RETRY_S);
  const { statusCode = 500, code: reason } = error as Partial<FastifyError>;
  // The framework's message would contain the whole URL.
  if (reason === 'FST_ERR_MAX_PARAM_LENGTH')
    return { status: 400, code: 'REQUEST_INVALID', message: 'a parameter of the path is too long' };
  const code = frameworkCodes[statusCode];
  if (code !== undefined) return { status: statusCode, code, message: error.message };
  return { status: 500, code: 'INTERNAL', message: 'an unexpected error, which the log of the service describes' };
}

/** True if the head of a request announces a body. */
function mayHaveBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The largest number of bytes of a body that may still arrive: none once it has been read. */
function bodyLeft({ raw, headers }: FastifyRequest): number {
  if (raw.readableEnded) return 0;
  // An aborted body is not read further, and would delay the next request on the connection.
  if (raw.destroyed) return Infinity;
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length']) : Infinity;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is passed on as a stream, and may take as long as the server allows. */
    isStreamed?: boolean;
  }
}

/** Methods whose bodies are ignored. */
const bodyless = ['GET', 'HEAD', 'TRACE'];

/** Answers 408 to a JSON body that has not arrived within `limitMs` milliseconds. */
export function limitBodyTime(app: FastifyInstance, limitMs: number): void {
  app.addHook('preParsing', async (request, reply, payload) => {
    const isRead = !bodyless.includes(request.method) && mayHaveBody(request);
    // Most bodies arrive together with their head.
    if (!isRead || request.raw.complete || request.routeOptions.config.isStreamed) return payload;
    const timer = setTimeout(() => {
      // The reader of the body fails with this error, whose answer closes the connection.
      if (payload.listenerCount('error') > 0 && !reply.raw.headersSent) payload.emit('error', late());
    }, limitMs);
    payload.once('end', () => clearTimeout(timer));
    reply.raw.once('close', () => clearTimeout(timer));
    return payload;
  });
}

/** The least number of bytes that a connection must move in some milliseconds. */
interface LeastRate {
  readonly rateMs: number;
  readonly rateBytes: number;
}

/**
 * Ends requests whose body, and answers whose body, moves too slowly because of the caller. Event streams are mostly
 * idle, and may be.
 */
export function requireLeastRate(app: FastifyInstance, { rateMs, rateBytes }: LeastRate): void {
  app.addHook('preParsing', async (request, reply, payload) => {
    const { lane, isStreamed } = request.routeOptions.config;
    if (lane === undefined || lane === 'stream' || reply.raw.destroyed) return payload;
    const { socket } = request.raw;
    const moved = () => socket.bytesRead + socket.bytesWritten;
    let before = moved();
    const timer = setInterval(() => {
      const isSlow = moved() - before < rateBytes;
      before = moved();
      if (isSlow && isStreamed && !request.raw.complete) request.raw.destroy(late());
      // Otherwise the service itself, or its storage, is the slow one.
      else if (isSlow && reply.raw.writableNeedDrain) socket.destroy();
    }, rateMs);
    reply.raw.once('close', () => clearInterval(timer));
    return payload;
  });
}

function late(): Error {
  const message = 'the body did not arrive in time';
  return Object.assign(new ApiError({ status: 408, code: 'REQUEST_TIMEOUT', message }), { statusCode: 408 });
}

/** HTTP methods that routes may have; a request with another method is not found. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'];

/** Answers 404 to unknown URLs, before a body is read. */
export function answerUnknownUrls(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw new ApiError({ status: 404, code: 'NOT_FOUND', message: 'there is no such resource' });
  });
}

/**
 * Collects the routes that are registered from now on. The returned function adds 405 answers for their other methods.
 */
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
