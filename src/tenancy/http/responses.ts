import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { ApiError } from '../core/apiError.rules.ts';
import type { CallUse, TokenUse } from '../core/permission.rules.ts';
import { ErrorBody } from '../../api/commonSchemas.ts';

/** Codes of errors by status; several are separated by `, `. */
type ErrorCodes = Readonly<Record<number, string>>;

/** Error codes of every route that requires a bearer token. */
const commonErrors: ErrorCodes = {
  400: 'REQUEST_INVALID',
  401: 'UNAUTHENTICATED',
  500: 'INTERNAL',
  503: 'OVERLOADED, PEER_UNAVAILABLE',
};
/** Error codes of every route with a body. */
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

/** Headers of errors by status. */
const headersOf: Readonly<Record<string, Record<string, object>>> = {
  401: { 'WWW-Authenticate': { type: 'string', const: 'Bearer' } },
  503: { 'Retry-After': { type: 'integer', description: 'Seconds after which the call may be repeated.' } },
};

/** Describes a successful answer in the document: its body, if any, and `no-store` if it contains a secret. */
export function success(status: number, schema: TSchema | null, { noStore = false } = {}): object {
  const headers = noStore && { headers: { 'Cache-Control': { type: 'string', const: 'no-store' } } };
  return { 'x-response-description': STATUS_CODES[status], ...headers, ...(schema ?? Type.Null()) };
}

/** Schemas of error bodies by status, described by their codes; `own` adds to the codes of every route. */
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

/** The body of an error with one of some codes; a text that is not a list of codes stands for any code. */
function bodyOf(codes: string): TSchema {
  const { code, ...fields } = ErrorBody.properties.error.properties;
  const isList = /^[A-Z_]+(, [A-Z_]+)*$/.test(codes);
  return Type.Object({ error: Type.Object({ code: isList ? Type.Enum(codes.split(', ')) : code, ...fields }) });
}

/** Name of the session cookie. Browsers accept this prefix only with https, for this host and every path. */
export const sessionCookie = '__Host-deployd-session';
/** Name of the cookie of a started sign-in. */
export const signInCookie = '__Host-deployd-sign-in';

/** The value of a cookie; undefined if it is missing, or if there are two of that name, because one is forged. */
export function cookieOf({ headers }: FastifyRequest, name: string): string | undefined {
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined;
}

/**
 * The header that sets a cookie for some seconds; 0 removes it. `Lax`, because the provider sends people back by a link
 * from another site.
 */
export function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`;
}

/**
 * Throws 403 unless a page of the service itself made the request, according to `Sec-Fetch-Site` or, if that is
 * missing, `Origin`. Pages of other sites cannot forge either header, so no CSRF token is needed.
 */
export function requireSameOrigin(headers: IncomingHttpHeaders, publicUrl: string): void {
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined ? headers.origin === new URL(publicUrl).origin : site === 'same-origin';
  if (isOwn) return;
  const message = 'a browser may do this from a page of the service only';
  throw new ApiError({ status: 403, code: 'CROSS_SITE_REFUSED', message });
}

/**
 * Throws 403 for a request that a page of another site makes without leaving for the service: an image, a frame, a
 * script. Such a page could otherwise use up the sign-ins of its reader's address. Old browsers send no `Sec-Fetch-Dest`.
 */
export function requireNavigation(headers: IncomingHttpHeaders): void {
  const { 'sec-fetch-site': site, 'sec-fetch-dest': destination = 'document' } = headers;
  if (destination === 'document' || site === 'same-origin') return;
  throw new ApiError({ status: 403, code: 'CROSS_SITE_REFUSED', message: 'a browser may only open this as a page' });
}

/** Error codes for a host's bearer token: missing, or not accepted. */
export const bearerCodes = 'UNAUTHENTICATED, AGENT_UNAUTHENTICATED';

/** The bearer token of a request; throws 401 if there is none. Tokens in URLs and cookies are ignored. */
export function bearerOf({ headers }: FastifyRequest): string {
  const [, bearer] = /^Bearer ([\w.~+/=-]{1,4096})$/i.exec(headers.authorization ?? '') ?? [];
  if (bearer === undefined) throw unauthenticated('a bearer is needed');
  return bearer;
}

/** The bearer token of a request and the call it is used for; throws 401 if there is none. */
export function tokenUseOf(request: FastifyRequest): TokenUse {
  return { bearer: bearerOf(request), ...callUseOf(request) };
}

/** The call of a request. */
export function callUseOf({ method, ip: address, id: requestId, routeOptions }: FastifyRequest): CallUse {
  return { call: `${method} ${routeOptions.url ?? '-'}`, address, requestId };
}

/** The 401 error for a bearer token that is not accepted. */
export function unauthenticated(message: string): ApiError {
  return new ApiError({ status: 401, code: 'UNAUTHENTICATED', message });
}
