import { checked, inapplicable, unseen, type Check, type Finding, type Host } from './doctor.ts';
import type { Known } from '../plan/plan.ts';

/** `deployd.timer` as systemd shows it: its properties by name, and the next run where it names one. */
export type TimerFacts = Known<{ properties: ReadonlyMap<string, string>; next: Date | null }>;

/** The lock of the state directory. */
export interface LockFacts {
  /** Whether the file `lock` is there. */
  present: boolean;
  held: boolean;
  pid: number | null;
  since: string | null;
  /** No tick takes longer, in seconds. */
  longestS: number;
}

/** What lies in the directory of the env. */
export interface ReleasesFacts {
  home: string;
  count: number;
  keep: number;
  /** `current` in words when it is not what the agent made; null when it is. */
  foreign: string | null;
  /** The applied release is not whole. */
  incomplete: boolean;
  /** Paths that no tick needs any more: staging, registry logins of a killed compose. */
  leftovers: string[];
}

/** What `systemctl show` and `systemctl list-timers --output=json` say, microseconds since the epoch in the latter. */
export function timerFactsOf(shown: string, listed: string): TimerFacts {
  const lines = shown.split('\n').filter((line) => line.includes('='));
  const properties = new Map(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
  );
  if (!properties.has('LoadState')) return { unknown: 'systemd does not run here' };
  return { is: { properties, next: nextOf(listed) } };
}

/** Enabled, waiting for its next run, and ticks get through. */
export function judgeTimer(timer: TimerFacts): Check {
  const name = 'timer';
  if ('unknown' in timer) return inapplicable(name, timer.unknown);
  const { properties, next } = timer.is;
  const is = (property: string) => properties.get(property) ?? '';
  if (is('LoadState') === 'not-found') return inapplicable(name, 'deployd.timer is not installed on this host');
  const restart = 'sudo systemctl restart deployd.timer';
  const faults: [boolean, Finding][] = [
    [is('LoadState') === 'masked', { what: 'deployd.timer is masked', fix: 'sudo systemctl unmask deployd.timer' }],
    [
      ['disabled', ''].includes(is('UnitFileState')),
      {
        what: 'deployd.timer is not enabled: no tick after the next boot',
        fix: 'sudo systemctl enable --now deployd.timer',
      },
    ],
    [is('ActiveState') !== 'active', { what: 'deployd.timer does not run', fix: 'sudo systemctl start deployd.timer' }],
    [is('SubState') === 'elapsed', { what: 'deployd.timer has no next run', fix: restart }],
  ];
  const findings = faults.filter(([holds]) => holds).map(([, finding]) => finding);
  return checked(name, next === null ? is('SubState') : `next run at ${next.toISOString()}`, findings);
}

/** A tick has got through lately; laptops may be offline for long. */
export function judgeLastTick(
  { state, now }: Host,
  { intervalS, laptop }: { intervalS: number; laptop: boolean },
): Check {
  const name = 'ticks';
  if ('unknown' in state) return unseen(name, state.unknown);
  const at = state.is?.last_check_in?.at ?? null;
  if (at === null)
    return checked(name, 'none', [{ what: 'no tick has checked in yet', fix: 'sudo deployd run --once' }]);
  const ageS = Math.round((now.getTime() - Date.parse(at)) / 1000);
  const isLate = !laptop && ageS > Math.max(leastPatienceS, 5 * intervalS);
  const what = `no tick has checked in since ${at}`;
  return checked(name, `last check-in at ${at}`, isLate ? [{ what, fix: 'sudo deployd trace --list' }] : []);
}

/** Free, or held by a tick that is still at work. */
export function judgeLock(lock: Known<LockFacts>, now: Date): Check {
  if ('unknown' in lock) return unseen('lock', lock.unknown);
  const { present, held, pid, since, longestS } = lock.is;
  if (!held) {
    const what = 'a tick died and left its lock; the next tick takes it away';
    return checked('lock', 'free', present ? [{ what, fix: 'sudo deployd run --once' }] : []);
  }
  const ageS = Math.round((now.getTime() - Date.parse(since ?? '')) / 1000);
  const what = `the tick of process ${pid ?? '?'} has run for ${ageS} s, longer than its time limits allow`;
  const told = `held by process ${pid ?? '?'} for ${ageS} s`;
  return checked('lock', told, ageS > longestS ? [{ what, fix: `sudo kill ${pid ?? 'PID'}` }] : []);
}

/** `current` is the agent's, the applied release is whole, and nothing lies about (spec §12.7). */
export function judgeReleases(releases: Known<ReleasesFacts>): Check {
  const name = 'releases';
  if ('unknown' in releases) return unseen(name, releases.unknown);
  const { home, count, keep, foreign, incomplete, leftovers } = releases.is;
  const tick = 'sudo deployd run --once';
  const faults: [boolean, Finding][] = [
    [foreign !== null, { what: foreign ?? '', fix: `sudo mv ${home}/current ${home}/current.foreign` }],
    [incomplete, { what: 'the applied release is not whole: the next tick applies it anew', fix: tick }],
    [count > keep + 1, { what: `${count} releases lie there, ${keep} are kept`, fix: `${tick} --prune` }],
  ];
  const told = `${count} in ${home}/releases`;
  const left = leftovers.map((path) => ({ what: `${path} was left behind`, fix: `sudo rm -rf ${path}` }));
  return checked(name, told, [...faults.filter(([holds]) => holds).map(([, finding]) => finding), ...left]);
}

/** Readable, and of this env; `broken` says what is wrong with a file that is none. */
export function judgeState({ state }: Host, { env, broken }: { env: string | null; broken: Finding | null }): Check {
  const name = 'state';
  if (broken !== null) return checked(name, 'state.json', [broken]);
  if ('unknown' in state) return unseen(name, state.unknown);
  if (state.is === null) return checked(name, 'no tick has been made yet', []);
  const what = `state.json belongs to env ${state.is.env}, config.yaml says ${env ?? ''}; the next tick keeps it beside`;
  const differs = env !== null && state.is.env !== env;
  return checked(name, 'state.json', differs ? [{ what, fix: 'sudo deployd run --once' }] : []);
}

function nextOf(listed: string): Date | null {
  try {
    const [timer] = JSON.parse(listed) as { next?: unknown }[];
    return typeof timer?.next === 'number' && timer.next > 0 ? new Date(timer.next / 1000) : null;
  } catch {
    return null;
  }
}

/** Seconds; ticks are this late after a boot, or while one is long at work. */
const leastPatienceS = 900;
