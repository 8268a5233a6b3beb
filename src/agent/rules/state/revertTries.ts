import { pauseAfter, remainingPauseS } from '../health/healing.ts';

/** A revert that fails this often, on as many ticks, ends unfinished. */
export const maxTries = 3;

/** A revert that has ended unfinished, until a release is in force again. */
export interface UnfinishedRevert {
  /** The bundle that was to be undone. */
  sha: string;
  /** How often the applied release could not be started again. */
  tries: number;
  /** Why the last try failed, and the code of that. */
  line: string;
  code: string | null;
  /** When the applied release is started again, unless a service of it is healed before. */
  retry_at: string;
}

/** The parts of the state that count the tries. */
interface Tried {
  attempt: { sha: string; phase: string; at: string; tries?: number } | null;
  unreverted?: UnfinishedRevert | null;
}

/** The state after a failed try to start the applied release again; empty when no attempt had to be undone. */
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

/** What the journal, the reports, status and doctor say of it. */
export function describeUnfinished({ tries, line }: UnfinishedRevert): string {
  return `revert not finished after ${tries} tries: ${line}`;
}
