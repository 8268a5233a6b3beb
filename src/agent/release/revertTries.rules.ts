import type { UnfinishedRevert } from '../state/state.rules.ts';

/** A revert that fails this often, on as many ticks, ends unfinished. */
export const maxTries = 3;

/** The parts of the state that count the tries. */
interface Tried {
  attempt: { sha: string; phase: string; at: string; tries?: number } | null;
  unreverted?: UnfinishedRevert | null;
}

/** The state after a failed try to start the applied release again; empty when there was no attempt to revert. */
export function afterFailedTry(
  { attempt, unreverted = null }: Tried,
  { line, code }: Pick<UnfinishedRevert, 'line' | 'code'>,
  now: Date,
): Partial<Tried> {
  const failed = attempt ?? unreverted;
  if (failed === null) return {};
  const { sha, tries: before = 0 } = failed;
  const tries = before + 1;
  if (attempt !== null && tries < maxTries) return { attempt: { ...attempt, tries } };
  const retry_at = new Date(now.getTime() + pauseAfter(tries) * 1000).toISOString();
  return { attempt: null, unreverted: { sha, tries, line: line.replace(/^failed: /, ''), code, retry_at } };
}

/** True when the applied release is started again: after the pause, or when the services that were unhealthy no longer are. */
export function isTryDue({ code, retry_at }: UnfinishedRevert, isAnyUnhealthy: boolean, now: Date): boolean {
  return remainingPauseS(retry_at, now) === 0 || (code === 'UNHEALTHY' && !isAnyUnhealthy);
}

/** The description in the journal, the reports, status and doctor. */
export function describeUnfinished({ tries, line }: UnfinishedRevert): string {
  return `revert not finished after ${tries} tries: ${line}`;
}

/** Heals without a pause before the next one. */
const freeHeals = 2;

const [firstPauseS, longestPauseS] = [60, 1800];

/** Seconds until the next heal, after this many: 0, 0, 60, 120, 240 … 1800. */
export function pauseAfter(heals: number): number {
  return heals <= freeHeals ? 0 : Math.min(longestPauseS, firstPauseS * 2 ** (heals - freeHeals - 1));
}

/** Seconds until the next heal is due; a pause longer than any means that the clock was set back, and counts as none. */
export function remainingPauseS(retryAt: string | null | undefined, now: Date): number {
  const leftS = Math.ceil((Date.parse(retryAt ?? '') - now.getTime()) / 1000);
  return leftS > 0 && leftS <= longestPauseS ? leftS : 0;
}
