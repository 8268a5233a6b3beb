import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { PeerError } from '../adapters/peerError.ts';
import { ApiError, type ApiErrorFields } from '../services/apiError.ts';
import type { LogLine } from '../services/dependencies.ts';
import { bodyLeft, mayHaveBody } from './requestBody.ts';
import { isStoreFailure } from '../store/storeFailure.ts';
import type { ErrorBody } from './schemas/common.ts';

/** Codes of the statuses that the framework itself answers with. */
const frameworkCodes: Record<number, string> = {
  400: 'REQUEST_INVALID',
  408: 'REQUEST_TIMEOUT',
  413: 'REQUEST_TOO_LARGE',
  415: 'MEDIA_TYPE_UNSUPPORTED',
  417: 'REQUEST_INVALID',
};

/** Seconds after which callers may come again when the store has failed. */
const STORE_RETRY_S = 5;

/**
 * Answers with an error as the API returns it; one that is not expected is logged and told without details. A body that was
 * not read closes the connection, unless at most `drainBytes` of it will follow.
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

/** How the API tells an error; what is not expected is told without details. */
export function errorFields(error: Error): ApiErrorFields {
  if (error instanceof ApiError) return error.fields;
  if (error instanceof PeerError) return unavailable(error.peer, error.retryAfterS);
  if (isStoreFailure(error)) return unavailable('store', STORE_RETRY_S);
  const { statusCode = 500, code: reason } = error as Partial<FastifyError>;
  // The framework would tell the whole URL.
  if (reason === 'FST_ERR_MAX_PARAM_LENGTH')
    return { status: 400, code: 'REQUEST_INVALID', message: 'a parameter of the path is too long' };
  const code = frameworkCodes[statusCode];
  if (code !== undefined) return { status: statusCode, code, message: error.message };
  return { status: 500, code: 'INTERNAL', message: 'an unexpected error, which the log of the service describes' };
}
