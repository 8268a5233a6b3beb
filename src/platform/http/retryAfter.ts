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
