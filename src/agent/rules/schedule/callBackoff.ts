import { classifyError, type CallError } from '../errors/classifyError.ts';

/**
 * Milliseconds until a failed call is retried within the tick, null when it is not; `random` is in [0, 1). A Retry-After is
 * prolonged at random, by up to its own length, because many hosts may have received the same date.
 */
export function retryDelayMs(error: CallError, attempts: number, random: number): number | null {
  if (attempts > maxRetries || classifyError(error).ending !== 'offline') return null;
  const requestedS = 'retryAfterS' in error ? (error.retryAfterS ?? 0) : 0;
  if (requestedS > maxRetryAfterS) return null;
  return requestedS * (1 + random) * 1000 + firstDelayMs * 2 ** (attempts - 1) * (0.5 + random);
}

/**
 * Seconds of a Retry-After header, a number or a date. The date is relative to the response's Date header, or to this host's
 * clock without one. Null when the header is absent or invalid.
 */
export function parseRetryAfter(headers: RetryAfterHeaders, nowMs: number): number | null {
  const { 'retry-after': retryAfter, date } = headers;
  if (retryAfter === undefined) return null;
  if (/^\d{1,9}$/.test(retryAfter.trim())) return Number(retryAfter);
  const dateMs = Date.parse(retryAfter);
  return Number.isNaN(dateMs) ? null : Math.max(0, (dateMs - (Date.parse(date ?? '') || nowMs)) / 1000);
}

/** The response headers that determine the retry time. */
interface RetryAfterHeaders {
  'retry-after'?: string | undefined;
  date?: string | undefined;
}

/** Two short retries within a tick; the third is the next tick. */
const maxRetries = 2;
/** Seconds; a longer Retry-After is left to the next tick. */
const maxRetryAfterS = 10;
const firstDelayMs = 250;
