/**
 * How hosts that know nothing of each other keep from coming to the tenancy service all at once (spec §2.2, §10.4). Spans
 * are seconds; `random` is in [0, 1), drawn anew for each question.
 */

/** What check-ins leave in state.json for the ones after them; RFC 3339, UTC. What cannot be read counts for nothing. */
export interface Pace {
  due_at: string | null;
  /** Until then the tenancy service is not asked. */
  alone_until: string | null;
}

/**
 * Whether a host is back from having been away: its check-in comes later than it was due. Where the tick before was a long
 * one, due counts from when it told its outcome.
 */
export function isOverdue({ pace, last_outcome }: Past, interval_s: number, now: Date): boolean {
  const toldSince_s = (now.getTime() - Date.parse(last_outcome?.at ?? '')) / 1000;
  return now.getTime() > Date.parse(pace?.due_at ?? '') && !(toldSince_s <= dueS(interval_s, false));
}

/** What state.json tells of the ticks before. */
interface Past {
  pace?: Pace;
  last_outcome: { at: string } | null;
}

/** Until when the tenancy service is still left alone, null when it may be asked; a clock that was set back lifts it. */
export function aloneUntil(pace: Pace | undefined, now: Date): Date | null {
  const until = new Date(pace?.alone_until ?? '');
  const leftS = (until.getTime() - now.getTime()) / 1000;
  return leftS > 0 && leftS <= longestRetryAfter_s + spreadRetryAfter_s ? until : null;
}

/** What the loop sleeps between two ticks: its interval plus up to 10 s. */
export function sleepS(interval_s: number, random: number): number {
  return interval_s + jitter_s * random;
}

/**
 * How long after a check-in the next one is due. A host that is later than that comes back: it was off, asleep or cut off,
 * and so perhaps were many others, up to the same moment. Whoever boots is later, for the timer's first tick is.
 */
export function dueS(interval_s: number, isBack: boolean): number {
  return interval_s + longestTick_s + (isBack ? spreadS(interval_s, 1) : 0);
}

/** How often a check-in is tried: a short fault is bridged at once, but when it lasts each host knocks only once a tick. */
export function triesOf(isBack: boolean): number {
  return isBack ? 1 : 3;
}

/** What a host that is back waits once, after its check-in: those who came together go on spread over a whole round. */
export function spreadS(interval_s: number, random: number): number {
  return sleepS(interval_s, 0.5) * random;
}

/** A check-in that failed. */
export interface Failed {
  /** What the server asks for in a Retry-After, null without one. */
  retryAfterS: number | null;
  /** How long the check-in took until it failed. */
  waitedS: number;
  /** Since the check-in that succeeded last; null for a host whose next one is not overdue. */
  awayS: number | null;
}

/**
 * How long the tenancy service is left alone after a check-in that failed. A Retry-After is honoured up to an hour. A
 * service that lets callers wait at its door meets all of them at once when it opens: so who is overdue and waited in vain
 * stays away as long again, up to ten minutes.
 */
export function leaveAloneS({ retryAfterS, waitedS, awayS }: Failed, random: number): number {
  if (retryAfterS !== null) {
    const asked = Math.min(retryAfterS, longestRetryAfter_s);
    return asked + Math.min(asked, spreadRetryAfter_s) * random;
  }
  if (waitedS < wait_s || awayS === null) return 0;
  return Math.min(awayS, longestAlone_s) * (0.5 + random / 2);
}

const jitter_s = 10;
/** The jitter, and more than a tick takes that finds nothing to do. */
const longestTick_s = 30;
/** Longer than a service takes that is well. */
const wait_s = 5;
const longestAlone_s = 600;
/** A mistake in one header must not park a fleet. */
const longestRetryAfter_s = 3600;
/** Those whom one date calls back come in the course of a minute. */
const spreadRetryAfter_s = 60;
