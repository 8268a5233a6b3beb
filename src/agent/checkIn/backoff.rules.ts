import { laptopSilenceS, maxIdleTickS, maxIntervalJitterS, recentForS } from '../../api/checkIn.rules.ts';
import type { CheckInBackoff, State } from '../state/state.rules.ts';

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

/** End of the current backoff, null without one. A backoff longer than the maximum is ignored: the clock was set back. */
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
 * Seconds after a check-in until the next one is due. A host that is later was off, asleep or offline, and many others may
 * have been so until the same moment. A host that boots is always overdue, because the timer's first tick comes late.
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
 * Backoff after a failed check-in. A Retry-After is honoured up to an hour. A service that is overloaded lets callers wait, and
 * all of them would return at once: an overdue host that got no response in time stays away as long as it was offline, up
 * to ten minutes.
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

/** The moment at which a check-in is looked at, and how often this host checks in. */
export interface CheckInAgeFacts {
  now: Date;
  /** The same moment by a clock that nobody can set. */
  bootTime: { boot: string; uptime_s: number };
  intervalS: number;
  laptop: boolean;
}

/** The entries of state.json about the last check-in. */
type LastCheckIn = Pick<State, 'last_check_in' | 'check_in_clock'>;

/** Why the last check-in is not recent. */
export interface StaleCheckIn {
  line: string;
  /** True when the date of the check-in says nothing, because the clock was set. */
  isClockWrong: boolean;
}

/** Why the last check-in is not recent; null when it is, and without any. A clock that was set makes none look recent. */
export function staleCheckIn(state: LastCheckIn, facts: CheckInAgeFacts): StaleCheckIn | null {
  const { last_check_in } = state;
  if (last_check_in === null) return null;
  const sinceS = (facts.now.getTime() - Date.parse(last_check_in.at)) / 1000;
  if (sinceS < -maxClockStepS) {
    const line = `the last check-in is dated ${last_check_in.at}, in the future: the clock was set back`;
    return { line, isClockWrong: true };
  }
  const ageS = Math.max(sinceS, elapsedS(state, facts));
  if (ageS <= recentForS(facts)) return null;
  return { line: `the last check-in was ${formatAge(ageS)}, longer than ${limitText(facts)}`, isClockWrong: false };
}

/**
 * Seconds that have passed since the check-in at least, by the clock that nobody can set. The unit of the package hides the id of the
 * boot from the agent: then only a shorter uptime shows that the host booted.
 */
function elapsedS({ last_check_in, check_in_clock }: LastCheckIn, { bootTime: { boot, uptime_s } }: CheckInAgeFacts) {
  if (check_in_clock?.at !== last_check_in?.at || check_in_clock === undefined) return 0;
  const isOtherBoot = check_in_clock.boot !== '' && boot !== '' && check_in_clock.boot !== boot;
  const isSameBoot = !isOtherBoot && check_in_clock.uptime_s <= uptime_s;
  return isSameBoot ? uptime_s - check_in_clock.uptime_s : uptime_s;
}

function limitText(facts: CheckInAgeFacts): string {
  const limitS = recentForS(facts);
  if (limitS === laptopSilenceS && facts.laptop) return `${laptopSilenceS / 3600} hours`;
  return limitS === 3 * facts.intervalS ? `three intervals (${limitS} s)` : `${limitS} s`;
}

/** `3 min ago`, `2 h ago`, `5 days ago`; an age below zero counts as zero. */
export function formatAge(ageS: number): string {
  const minutes = Math.max(0, Math.floor(ageS / 60));
  if (minutes < 120) return `${minutes} min ago`;
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h ago` : `${Math.floor(minutes / 1440)} days ago`;
}

/** A clock is corrected by up to this many seconds without a word. */
const maxClockStepS = 60;

/**
 * Since when this host has been offline, at a tick that has reached no tenancy service: since its last check-in, else since its first
 * such tick. A time in the future was recorded under a clock that has been set back since: then it is now.
 */
export function offlineSince(
  { last_check_in, offline_since }: Pick<State, 'last_check_in' | 'offline_since'>,
  now: Date,
): string {
  const known = [last_check_in?.at, offline_since].filter((at) => typeof at === 'string');
  return known.find((at) => Date.parse(at) <= now.getTime()) ?? now.toISOString();
}

/** The journal line of the alarm; null while the host has not been offline for longer than `alarmS` seconds, and without an alarm. */
export function offlineAlarmLine(since: string, alarmS: number | null, now: Date): string | null {
  if (alarmS === null || (now.getTime() - Date.parse(since)) / 1000 <= alarmS) return null;
  return `no check-in since ${since}, for longer than offline_alarm_s (${alarmS} s)`;
}
