import { formatSkew, maxSkewS } from '../platform/text/clockSkew.ts';
import { checkResult, unknownCheck, type Check } from './diagnosis.ts';

/** Compares the clock of this host with those of services; `skewsS` are the seconds that it is ahead of each. */
export function checkClock(skewsS: readonly number[]): Check {
  const [worstS] = skewsS.toSorted((a, b) => Math.abs(b) - Math.abs(a));
  if (worstS === undefined) return unknownCheck('clock', 'no service told its time');
  const detail = `${formatSkew(worstS)} the services`;
  const isWrong = Math.abs(worstS) > maxSkewS;
  return checkResult(
    'clock',
    detail,
    isWrong ? [{ problem: `the clock is ${detail}`, fix: 'sudo timedatectl set-ntp true' }] : [],
  );
}
