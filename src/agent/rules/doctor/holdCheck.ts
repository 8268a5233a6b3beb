import { checkResult, unknownCheck, type Check } from '../../../doctor/diagnosis.ts';
import type { Fact } from '../../../platform/fact.ts';
import { formatStanding, standingHold, type HoldFile } from '../schedule/hold.ts';

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
