import type { FastifyRequest } from 'fastify';
import { ApiError } from '../core/apiError.ts';
import type { TokenUse } from '../core/operator.ts';

/** Codes of the errors of a bearer of a host: none was sent, or it is not accepted. */
export const bearerCodes = 'UNAUTHENTICATED, AGENT_UNAUTHENTICATED';

/** The bearer of a request; throws 401 without one. Tokens in URLs and cookies are not looked at. */
export function bearerOf({ headers }: FastifyRequest): string {
  const [, bearer] = /^Bearer ([\w.~+/=-]{1,4096})$/i.exec(headers.authorization ?? '') ?? [];
  if (bearer === undefined) throw unauthenticated('a bearer is needed');
  return bearer;
}

/** What a request does with its bearer; throws 401 without one. */
export function tokenUseOf(request: FastifyRequest): TokenUse {
  const { method, ip: address, id: requestId, routeOptions } = request;
  return { bearer: bearerOf(request), call: `${method} ${routeOptions.url ?? '-'}`, address, requestId };
}

/** The answer to a bearer that is not accepted. */
export function unauthenticated(message: string): ApiError {
  return new ApiError({ status: 401, code: 'UNAUTHENTICATED', message });
}
