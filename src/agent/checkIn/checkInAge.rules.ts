import { laptopSilenceS, recentForS } from '../../api/checkIn.rules.ts';
import type { State } from '../state/state.rules.ts';

/** Time of the evaluation of a check-in, and the check-in interval of this host. */
export interface CheckInAgeFacts {
  now: Date;
  /** The same moment on a clock that cannot be set. */
  bootTime: { boot: string; uptime_s: number };
  intervalS: number;
  laptop: boolean;
}

/** The entries of state.json about the last check-in. */
type LastCheckIn = Pick<State, 'last_check_in' | 'check_in_clock'>;

/** Why the last check-in is not recent. */
export interface StaleCheckIn {
  line: string;
  /** True when the date of the check-in is unusable because the clock was set. */
  isClockWrong: boolean;
}

/**
 * Why the last check-in is not recent; null when it is recent or there is no check-in. After a change of the clock, no
 * check-in counts as recent.
 */
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
 * Minimum number of seconds since the check-in, by the clock that cannot be set. The package's unit hides the boot id
 * from the agent: then only a shorter uptime shows that the host booted.
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

/** Maximum clock correction in seconds that is ignored. */
const maxClockStepS = 60;

/**
 * Start of the offline period, at a tick that has not reached the tenancy service: the last check-in, or the first such
 * tick if there was no check-in. A time in the future was recorded before the clock was set back, and counts as now.
 */
export function offlineSince(
  { last_check_in, offline_since }: Pick<State, 'last_check_in' | 'offline_since'>,
  now: Date,
): string {
  const known = [last_check_in?.at, offline_since].filter((at) => typeof at === 'string');
  return known.find((at) => Date.parse(at) <= now.getTime()) ?? now.toISOString();
}

/**
 * The journal line of the alarm; null until the host has been offline for more than `alarmS` seconds, and without an
 * alarm.
 */
export function offlineAlarmLine(since: string, alarmS: number | null, now: Date): string | null {
  if (alarmS === null || (now.getTime() - Date.parse(since)) / 1000 <= alarmS) return null;
  return `no check-in since ${since}, for longer than offline_alarm_s (${alarmS} s)`;
}
