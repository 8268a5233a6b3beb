import { type Check, checkResult, type Fact, unknownCheck } from '../../../core/doctor.rules.ts';
import { formatStanding, type HoldFile, standingHold } from '../schedule/hold.ts';

/** Tells the hold of an operator, which is no fault, and finds a file that nobody can tell the end of. */
export function checkHold(file: Fact<HoldFile | null>, now: Date): Check {
  const name = 'hold';
  if ('unknown' in file) return unknownCheck(name, file.unknown);
  const hold = standingHold(file.known, now);
  if (hold === null) return checkResult(name, 'none', []);
  const standing = formatStanding(hold);
  return checkResult(
    name,
    standing,
    hold.isDamaged ? [{ problem: `this host is held ${standing}`, fix: 'sudo deployd unhold' }] : [],
  );
}
