import {
  type Check,
  checkResult,
  type Fact,
  type Finding,
  inapplicableCheck,
  unknownCheck,
} from '../../../core/doctor.rules.ts';
import type { CheckContext } from './checkContext.ts';
import { type CheckInAgeFacts, staleCheckIn } from '../schedule/checkInAge.ts';
import { offlineAlarmLine } from '../schedule/offlineAlarm.ts';

/** Properties of `deployd.timer` by name, and its next run if systemd lists one. */
export type TimerFacts = Fact<{ properties: ReadonlyMap<string, string>; next: Date | null }>;

/** Parses `systemctl show` and `systemctl list-timers --output=json`; the latter has times in microseconds since the epoch. */
export function parseTimerFacts(shown: string, listed: string): TimerFacts {
  const lines = shown.split('\n');
  const properties = new Map(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
  );
  if (!properties.has('LoadState')) return { unknown: 'systemd does not run here' };
  return { known: { properties, next: parseNextRun(listed) } };
}

/**
 * Checks that the timer is enabled and active with a next run. `absentUser` is a user whose units end with the last session; null
 * where units need none.
 */
export function checkTimer(timer: TimerFacts, absentUser: string | null): Check {
  const name = 'timer';
  if (absentUser !== null) {
    const problem = `the units of ${absentUser} run only while ${absentUser} is logged in`;
    return checkResult(name, 'deployd.timer', [{ problem, fix: `sudo loginctl enable-linger ${absentUser}` }]);
  }
  if ('unknown' in timer) return inapplicableCheck(name, timer.unknown);
  const { properties, next } = timer.known;
  const is = (property: string) => properties.get(property) ?? '';
  if (is('LoadState') === 'not-found') return inapplicableCheck(name, 'deployd.timer is not installed on this host');
  const restart = 'sudo systemctl restart deployd.timer';
  const faults: [boolean, Finding][] = [
    [is('LoadState') === 'masked', { problem: 'deployd.timer is masked', fix: 'sudo systemctl unmask deployd.timer' }],
    [
      ['disabled', ''].includes(is('UnitFileState')),
      {
        problem: 'deployd.timer is not enabled: no tick after the next boot',
        fix: 'sudo systemctl enable --now deployd.timer',
      },
    ],
    [
      is('ActiveState') !== 'active',
      { problem: 'deployd.timer does not run', fix: 'sudo systemctl start deployd.timer' },
    ],
    [is('SubState') === 'elapsed', { problem: 'deployd.timer has no next run', fix: restart }],
  ];
  const findings = faults.filter(([holds]) => holds).map(([, finding]) => finding);
  return checkResult(name, next === null ? is('SubState') : `next run at ${next.toISOString()}`, findings);
}

/** How often this host checks in, and when that becomes an alarm. */
interface CheckInLimits extends Omit<CheckInAgeFacts, 'now'> {
  /** Config `offline_alarm_s`. */
  alarmS: number | null;
}

/** Checks that the last check-in is recent, as `status` does; an alarm may ask for less. */
export function checkLastTick({ state, now }: CheckContext, { alarmS, ...limits }: CheckInLimits): Check {
  const name = 'ticks';
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  const at = state.known?.last_check_in?.at;
  if (state.known === null || at === undefined)
    return checkResult(name, 'none', [{ problem: 'no tick has checked in yet', fix: 'sudo deployd run --once' }]);
  const alarm = offlineAlarmLine(at, alarmS, now);
  const stale = staleCheckIn(state.known, { now, ...limits });
  const problems = [alarm, stale?.line].filter((line) => typeof line === 'string');
  const fix = stale?.isClockWrong ? 'sudo timedatectl set-ntp true' : 'sudo deployd trace --list';
  return checkResult(
    name,
    `last check-in at ${at}`,
    problems.slice(0, 1).map((problem) => ({ problem, fix })),
  );
}

function parseNextRun(listed: string): Date | null {
  try {
    const [{ next }] = JSON.parse(listed) as [{ next: unknown }];
    return typeof next === 'number' && next > 0 ? new Date(next / 1000) : null;
  } catch {
    return null;
  }
}
