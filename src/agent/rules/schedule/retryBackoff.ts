const MINUTE_MS = 60_000;
const MAX_BACKOFF_MINUTES = 30;

/** A bundle that failed after its promotion: how often, and when it may be retried (RFC 3339, UTC). */
export interface FailingBundle {
  sha: string;
  count: number;
  retry_at: string;
  /** Journal line of the last failure, repeated during the backoff. */
  line: string;
}

/** Retry backoff after another failure: 1, 2, 4 … 30 minutes; a new sha starts at 1. */
export function recordFailure(
  before: FailingBundle | null,
  { sha, line }: { sha: string; line: string },
  now: Date,
): FailingBundle {
  const count = before?.sha === sha ? before.count + 1 : 1;
  return { sha, count, retry_at: new Date(now.getTime() + backoffMs(count)).toISOString(), line };
}

/**
 * Seconds until `sha` may be retried, 0 when it may be retried now. A remaining time longer than the backoff means that the clock was set
 * back; it counts as 0.
 */
export function secondsUntilRetry(failing: FailingBundle | null, sha: string | null, now: Date): number {
  if (failing?.sha !== sha) return 0;
  const leftMs = Date.parse(failing.retry_at) - now.getTime();
  return leftMs > backoffMs(failing.count) ? 0 : Math.max(0, Math.ceil(leftMs / 1000));
}

function backoffMs(count: number): number {
  return Math.min(2 ** (count - 1), MAX_BACKOFF_MINUTES) * MINUTE_MS;
}
