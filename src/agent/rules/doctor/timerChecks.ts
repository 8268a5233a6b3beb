import { checkResult, inapplicableCheck, unknownCheck, type Check, type Finding } from '../../../doctor/diagnosis.ts';
import type { CheckContext } from './checkContext.ts';
import type { Fact } from '../../../platform/fact.ts';

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

/** Checks that the last check-in is recent; laptops may be offline for longer, up to the alarm. */
export function checkLastTick(
  { state, now }: CheckContext,
  { intervalS, laptop, alarmS }: { intervalS: number; laptop: boolean; alarmS: number | null },
): Check {
  const name = 'ticks';
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  const at = state.known?.last_check_in?.at ?? null;
  if (at === null)
    return checkResult(name, 'none', [{ problem: 'no tick has checked in yet', fix: 'sudo deployd run --once' }]);
  const ageS = Math.round((now.getTime() - Date.parse(at)) / 1000);
  const isAlarm = alarmS !== null && ageS > alarmS;
  const isLate = isAlarm || (!laptop && ageS > Math.max(minOverdueS, 5 * intervalS));
  const problem = `no tick has checked in since ${at}${isAlarm ? `, for longer than offline_alarm_s (${alarmS} s)` : ''}`;
  return checkResult(name, `last check-in at ${at}`, isLate ? [{ problem, fix: 'sudo deployd trace --list' }] : []);
}

function parseNextRun(listed: string): Date | null {
  try {
    const [{ next }] = JSON.parse(listed) as [{ next: unknown }];
    return typeof next === 'number' && next > 0 ? new Date(next / 1000) : null;
  } catch {
    return null;
  }
}

/** Seconds; a boot or a long tick delays check-ins by up to this much. */
const minOverdueS = 900;
