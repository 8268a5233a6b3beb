import { classifyError, type CallError } from '../errors/classifyError.ts';

/**
 * Milliseconds until a failed call is retried within the tick, null when it is not; `random` is in [0, 1). A Retry-After is
 * prolonged at random, by up to its own length, because many hosts may have received the same date.
 */
export function callBackoffMs(error: CallError, attempts: number, random: number): number | null {
  if (attempts > maxRetries || classifyError(error).ending !== 'offline') return null;
  const requestedS = 'retryAfterS' in error ? (error.retryAfterS ?? 0) : 0;
  if (requestedS > maxRetryAfterS) return null;
  return requestedS * (1 + random) * 1000 + firstDelayMs * 2 ** (attempts - 1) * (0.5 + random);
}

/** Two short retries within a tick; the third is the next tick. */
const maxRetries = 2;
/** Seconds; a longer Retry-After is left to the next tick. */
const maxRetryAfterS = 10;
const firstDelayMs = 250;
