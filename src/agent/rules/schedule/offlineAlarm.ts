import type { State } from '../state/state.ts';

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
