import { Fault } from '../../../../machines/fault.ts';
import type { FailedAttempt, RevertResult } from '../../../../machines/services.ts';
import { whileCheckingIn } from '../checkIn/checkIn.ts';
import type { Sha } from '../../../../machines/types.ts';
import type { State } from '../../rules/state/state.ts';
import { recordFailure, type FailingBundle } from '../../rules/schedule/retryBackoff.ts';
import { outcomePatch } from '../checkIn/outcomePatch.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordFinishedOneShots } from '../release/oneShots.ts';
import { redactFault } from '../redactFault.ts';
import { joinTails } from '../health/logTail.ts';
import { pointCurrentToApplied, restoreRelease } from '../release/restoreRelease.ts';

/**
 * After a failed up or health wait: starts the previous release again, from local images and its own `.env`.
 * - The failure is recorded first; if the disk does not take it, again at the end.
 * - The attempt stays recorded until the previous release is healthy, so that the next tick can continue.
 * - SIGTERM ends the revert but not the outcome, which is decided and must be reported.
 */
export async function revertRelease(
  deps: Dependencies,
  { bundle, ...failed }: FailedAttempt,
  signal: AbortSignal,
): Promise<RevertResult> {
  const { applied_sha, failing } = deps.state.state;
  const wayBack = { before: failing, previous: applied_sha, patch: {} };
  return revertTo(deps, { ...failed, sha: bundle.sha, ...wayBack }, signal);
}

/** A bundle that failed. */
interface FailedBundle extends Pick<FailedAttempt, 'desired' | 'outcome'> {
  sha: Sha;
}

/** The way back from it. */
interface WayBack {
  /** The failure that was recorded before. */
  before: FailingBundle | null;
  /** The release to start again; null for none. */
  previous: Sha | null;
  /** What else the write that records the failure changes. */
  patch: Partial<State>;
}

/** The same with the facts of the failure, for a bundle that may have been applied. */
export async function revertTo(
  deps: Dependencies,
  { before, previous, patch, ...failed }: FailedBundle & WayBack,
  signal: AbortSignal,
): Promise<RevertResult> {
  const { recordDecision, settings, state, tick } = deps;
  const attempt = { sha: failed.sha, phase: 'reverting' as const, at: new Date().toISOString() };
  const failure = { ...patch, ...failurePatch(deps, failed, before) };
  const writeError = await failureOf(deps, () => state.update({ ...failure, attempt }));
  await recordFinishedOneShots(deps, failed.sha);
  const isLeft = previous === null || settings.on_failure === 'leave';
  const revertError = await failureOf(deps, () =>
    isLeft
      ? leaveForDiagnosis(deps, attempt)
      : whileCheckingIn(deps, { work: 'restore', wanted: failed.sha }, signal, (waiting) =>
          restoreRelease(deps, { sha: previous }, waiting),
        ),
  );
  if (writeError !== null) await failureOf(deps, () => state.update(failure));
  const lines = [
    ...failed.outcome.lines,
    ...(writeError === null ? [] : [`on the way back: ${writeError.line}`]),
    ...(revertError === null ? [] : [`revert not finished: ${revertError.line}`]),
  ];
  const reverted = !isLeft && revertError === null;
  if (isLeft) recordDecision({ word: 'not-reverted' });
  else recordDecision({ word: reverted ? 'reverted' : 'revert-failed', sha: previous });
  if (reverted) tick.journal.info(`reverted: the previous release ${previous} is in force and healthy`);
  const tail = revertError?.tail
    ? joinTails(failed.outcome.tail, `--- revert\n${revertError.tail}`)
    : failed.outcome.tail;
  return { reverted, lines, tail };
}

/** Keeps the containers of the failed bundle for diagnosis and restores only `current`. */
async function leaveForDiagnosis(deps: Dependencies, attempt: { sha: string; at: string }): Promise<void> {
  const previous = await pointCurrentToApplied(deps);
  await deps.state.update({ attempt: previous === null ? null : { ...attempt, phase: 'left' } });
}

/** Line and tail of a failed revert step without secrets, null on success; the next step runs in both cases. */
export async function failureOf(
  { vault }: Pick<Dependencies, 'vault'>,
  step: () => Promise<void>,
): Promise<{ line: string; tail: string | null } | null> {
  return step().then(
    () => null,
    (error: unknown) => {
      if (!(error instanceof Fault)) return { line: 'internal error', tail: null };
      const { lines, tail } = redactFault({ vault }, error);
      return { line: lines.join('; '), tail };
    },
  );
}

/** The state patch of a failed bundle: retry backoff, last outcome and report. */
export function failurePatch(deps: Dependencies, { sha, ...input }: FailedBundle, before: FailingBundle | null) {
  const line = input.outcome.lines[0] ?? 'failed';
  return { failing: recordFailure(before, { sha, line }, new Date()), ...outcomePatch(deps, input) };
}
