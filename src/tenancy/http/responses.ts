import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { ApiError } from '../core/apiError.ts';
import type { TokenUse } from '../core/operator.ts';
import { ErrorBody } from '../../api/commonSchemas.ts';

/** Codes of errors by status; several are separated by `, `. */
type ErrorCodes = Readonly<Record<number, string>>;

/** Codes of the errors that every route with a bearer has. */
const commonErrors: ErrorCodes = {
  400: 'REQUEST_INVALID',
  401: 'UNAUTHENTICATED',
  500: 'INTERNAL',
  503: 'OVERLOADED, PEER_UNAVAILABLE',
};
/** Codes of the errors that every route with a body has. */
export const bodyErrors: ErrorCodes = {
  408: 'REQUEST_TIMEOUT',
  413: 'REQUEST_TOO_LARGE',
  415: 'MEDIA_TYPE_UNSUPPORTED',
};

/** Any bytes, as a body. */
export const octetStream = { content: { 'application/octet-stream': { schema: {} } } };

export const eventStreamType = 'text/event-stream; charset=utf-8';
/** Server-sent events, as a body. */
export const serverSentEvents = { content: { 'text/event-stream': { schema: Type.String() } } };

/** Headers that errors of a status have. */
const headersOf: Readonly<Record<string, Record<string, object>>> = {
  401: { 'WWW-Authenticate': { type: 'string', const: 'Bearer' } },
  503: { 'Retry-After': { type: 'integer', description: 'Seconds after which the call may be repeated.' } },
};

/** A successful answer for the document: its body, or none, and that no cache may keep it if it holds a secret. */
export function success(status: number, schema: TSchema | null, { noStore = false } = {}): object {
  const headers = noStore && { headers: { 'Cache-Control': { type: 'string', const: 'no-store' } } };
  return { 'x-response-description': STATUS_CODES[status], ...headers, ...(schema ?? Type.Null()) };
}

/** Schemas of error bodies by status, described by their codes; `own` adds to those that every route has. */
export function failures(own: ErrorCodes = {}): Record<string, object> {
  return errorResponses({ ...commonErrors, ...own });
}

/** Schemas of error bodies by status, described by their codes. */
export function errorResponses(errors: ErrorCodes): Record<string, object> {
  const entries = Object.entries(errors).map(([status, codes]) => {
    const headers = headersOf[status];
    return [status, { 'x-response-description': codes, ...(headers && { headers }), ...bodyOf(codes) }];
  });
  return Object.fromEntries(entries) as Record<string, object>;
}

/** The body of an error with one of some codes; a text that is not a list of codes stands for any. */
function bodyOf(codes: string): TSchema {
  const { code, ...fields } = ErrorBody.properties.error.properties;
  const isList = /^[A-Z_]+(, [A-Z_]+)*$/.test(codes);
  return Type.Object({ error: Type.Object({ code: isList ? Type.Enum(codes.split(', ')) : code, ...fields }) });
}

/** Cookie of a session. Browsers keep names that begin so only from https, for this host and every path. */
export const sessionCookie = '__Host-deployd-session';
/** Cookie of a sign-in that was begun. */
export const signInCookie = '__Host-deployd-sign-in';

/** The value of a cookie; undefined without one, and for two of the name, of which one is not ours. */
export function cookieOf({ headers }: FastifyRequest, name: string): string | undefined {
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined;
}

/**
 * The header that sets a cookie for some seconds; 0 removes it. `Lax`, since the provider sends people back by a link from
 * another site.
 */
export function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`;
}

/**
 * Throws 403 unless a page of the service itself makes the request, as the browser tells by `Sec-Fetch-Site`, or one
 * without that by `Origin`. A page of another site can forge neither, and no token needs to be handed out for it.
 */
export function requireSameOrigin(headers: IncomingHttpHeaders, publicUrl: string): void {
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined ? headers.origin === new URL(publicUrl).origin : site === 'same-origin';
  if (isOwn) return;
  const message = 'a session may do this from a page of the service only';
  throw new ApiError({ status: 403, code: 'CROSS_SITE_REFUSED', message });
}

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
