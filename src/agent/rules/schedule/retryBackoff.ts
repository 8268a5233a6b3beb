const MINUTE_MS = 60_000;
const LONGEST_MINUTES = 30;

/** A sha that failed after its promotion: how often, and when it may be tried again (RFC 3339, UTC). */
export interface Failing {
  sha: string;
  count: number;
  retry_at: string;
  /** The line of the last failure, told again while the pause lasts. */
  line: string;
}

/** The pause after one more failure: 1, 2, 4 … 30 minutes; a new sha starts again at 1. */
export function failedAgain(before: Failing | null, { sha, line }: { sha: string; line: string }, now: Date): Failing {
  const count = before?.sha === sha ? before.count + 1 : 1;
  return { sha, count, retry_at: new Date(now.getTime() + pauseMsAfter(count)).toISOString(), line };
}

/** Seconds until `sha` may be tried again, 0 when it may be tried now; a pause that is too long was begun by another clock, and is over. */
export function pauseOf(failing: Failing | null, sha: string | null, now: Date): number {
  if (failing?.sha !== sha) return 0;
  const leftMs = Date.parse(failing.retry_at) - now.getTime();
  return leftMs > pauseMsAfter(failing.count) ? 0 : Math.max(0, Math.ceil(leftMs / 1000));
}

function pauseMsAfter(count: number): number {
  return Math.min(2 ** (count - 1), LONGEST_MINUTES) * MINUTE_MS;
}
