import type { TSchema } from 'typebox';
import { ErrorBody } from './schemas/common.ts';

/** Codes of the errors that every route with a bearer has, by status. */
const commonErrors = {
  400: 'REQUEST_INVALID',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  408: 'REQUEST_TIMEOUT',
  413: 'REQUEST_TOO_LARGE',
  415: 'MEDIA_TYPE_UNSUPPORTED',
  500: 'INTERNAL',
  503: 'OVERLOADED, PEER_UNAVAILABLE',
};

/** Schemas of error bodies by status, described by their codes; `own` adds to those that every route has. */
export function failures(own: Readonly<Record<number, string>> = {}): Record<string, TSchema> {
  const entries = Object.entries({ ...commonErrors, ...own });
  return Object.fromEntries(entries.map(([status, description]) => [status, { ...ErrorBody, description }]));
}
