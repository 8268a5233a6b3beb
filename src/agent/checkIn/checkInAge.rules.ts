import { laptopSilenceS, recentForS } from '../../api/checkIn.rules.ts';
import type { State } from '../state/state.rules.ts';

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
