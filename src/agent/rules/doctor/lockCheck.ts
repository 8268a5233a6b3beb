import { type Check, checkResult, type Fact, unknownCheck } from '../../../core/doctor.rules.ts';

/** Facts of the lock of the state directory. */
export interface LockFacts {
  /** True when the file `lock` exists. */
  present: boolean;
  held: boolean;
  pid: number | null;
  since: string | null;
  /** Upper bound of a tick's duration, in seconds. */
  maxTickS: number;
}

/** Checks that the lock is free, or held by a tick within its time limits. */
export function checkLock(lock: Fact<LockFacts>, now: Date): Check {
  if ('unknown' in lock) return unknownCheck('lock', lock.unknown);
  const { present, held, pid, since, maxTickS } = lock.known;
  if (!held) {
    const problem = 'a tick died and left its lock; the next tick takes it away';
    return checkResult('lock', 'free', present ? [{ problem, fix: 'sudo deployd run --once' }] : []);
  }
  const ageS = Math.round((now.getTime() - Date.parse(since ?? '')) / 1000);
  const problem = `the tick of process ${pid ?? '?'} has run for ${ageS} s, longer than its time limits allow`;
  const detail = `held by process ${pid ?? '?'} for ${ageS} s`;
  return checkResult('lock', detail, ageS > maxTickS ? [{ problem, fix: `sudo kill ${pid ?? 'PID'}` }] : []);
}
