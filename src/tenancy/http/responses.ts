import { STATUS_CODES } from 'node:http';
import { type TSchema, Type } from 'typebox';
import { ErrorBody } from './commonSchemas.ts';

/** Codes of errors by status; several are separated by `, `. */
export type ErrorCodes = Readonly<Record<number, string>>;

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

/** The body of an error with one of some codes; a text that is no list of codes stands for any. */
function bodyOf(codes: string): TSchema {
  const { code, ...fields } = ErrorBody.properties.error.properties;
  const isList = /^[A-Z_]+(, [A-Z_]+)*$/.test(codes);
  return Type.Object({ error: Type.Object({ code: isList ? Type.Enum(codes.split(', ')) : code, ...fields }) });
}
