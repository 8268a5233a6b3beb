import { maxIdleTickS, maxIntervalJitterS, retryPauseMs } from '../../api/checkIn.rules.ts';
import type { CheckInBackoff, FailingBundle } from '../state/state.rules.ts';

/**
 * True when a check-in comes later than it was due, because the host was off, asleep or offline. After a long tick, the due
 * time counts from its outcome.
 */
export function isOverdue({ pace, last_outcome }: PastTicks, interval_s: number, now: Date): boolean {
  const sinceOutcomeS = (now.getTime() - Date.parse(last_outcome?.at ?? '')) / 1000;
  return now.getTime() > Date.parse(pace?.due_at ?? '') && !(sinceOutcomeS <= checkInDueS(interval_s, false));
}

/** The entries of state.json about earlier ticks. */
interface PastTicks {
  pace?: CheckInBackoff;
  last_outcome: { at: string } | null;
}

/**
 * End of the current backoff, null without a backoff. A backoff longer than the maximum is ignored: the clock was set
 * back.
 */
export function backoffUntil(pace: CheckInBackoff | undefined, now: Date): Date | null {
  const until = new Date(pace?.alone_until ?? '');
  const leftS = (until.getTime() - now.getTime()) / 1000;
  return leftS > 0 && leftS <= maxRetryAfterS + maxRetryAfterJitterS ? until : null;
}

/** Pause of the loop between two ticks: the interval plus a jitter of up to 10 s. */
export function tickIntervalS(interval_s: number, random: number): number {
  return interval_s + maxIntervalJitterS * random;
}

/**
 * Seconds after a check-in until the next one is due. A later host was off, asleep or offline, and many others may
 * return at the same moment. A host that boots is always overdue, because the timer's first tick comes late.
 */
export function checkInDueS(interval_s: number, overdue: boolean): number {
  return interval_s + maxIdleTickS + (overdue ? jitterS(interval_s, 1) : 0);
}

/** Attempts of one check-in: a short fault is retried at once, but during an outage each host calls only once a tick. */
export function maxAttempts(overdue: boolean): number {
  return overdue ? 1 : 3;
}

/** Delay of an overdue host after its check-in, which spreads hosts that return together over a whole interval. */
export function jitterS(interval_s: number, random: number): number {
  return tickIntervalS(interval_s, 0.5) * random;
}

/** A failed check-in. */
export interface FailedCheckIn {
  /** Seconds of the response's Retry-After, null without one. */
  retryAfterS: number | null;
  /** Seconds until the check-in failed. */
  responseS: number;
  /** Seconds since the last successful check-in; null for a host that is not overdue. */
  offlineS: number | null;
}

/**
 * Backoff after a failed check-in. A Retry-After is respected up to an hour. An overloaded service delays its callers,
 * which would all return at once. An overdue host that got no response in time therefore stays away as long as it was
 * offline, up to ten minutes.
 */
export function backoffS({ retryAfterS, responseS, offlineS }: FailedCheckIn, random: number): number {
  if (retryAfterS !== null) {
    const requestedS = Math.min(retryAfterS, maxRetryAfterS);
    return requestedS + Math.min(requestedS, maxRetryAfterJitterS) * random;
  }
  if (responseS < slowResponseS) return 0;
  return Math.min(offlineS ?? 0, maxBackoffS) * (0.5 + random / 2);
}

/** Longer than a healthy service takes. */
const slowResponseS = 5;

const maxBackoffS = 600;

/** Limits the effect of a wrong header on a fleet. */
const maxRetryAfterS = 3600;

/** Spreads hosts with the same Retry-After date over a minute. */
const maxRetryAfterJitterS = 60;

/** Retry backoff after another failure; a new sha starts with the shortest one. */
export function recordFailure(
  before: FailingBundle | null,
  { sha, line }: { sha: string; line: string },
  now: Date,
): FailingBundle {
  const count = before?.sha === sha ? before.count + 1 : 1;
  return { sha, count, retry_at: new Date(now.getTime() + retryPauseMs(count)).toISOString(), line };
}

/**
 * Seconds until `sha` may be retried, 0 when it may be retried now. A remaining time longer than the backoff means that the clock was set
 * back; it counts as 0.
 */
export function secondsUntilRetry(failing: FailingBundle | null, sha: string | null, now: Date): number {
  if (failing?.sha !== sha) return 0;
  const leftMs = Date.parse(failing.retry_at) - now.getTime();
  return leftMs > retryPauseMs(failing.count) ? 0 : Math.max(0, Math.ceil(leftMs / 1000));
}
