import { Fault } from '../../../../machines/fault.ts';
import type { FailedAttempt, RevertResult } from '../../../../machines/services.ts';
import { recordFailure } from '../../rules/schedule/retryBackoff.ts';
import { whileCheckingIn } from '../checkIn/checkIn.ts';
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
  failed: FailedAttempt,
  signal: AbortSignal,
): Promise<RevertResult> {
  const { recordDecision, settings, state, tick } = deps;
  const attempt = { sha: failed.bundle.sha, phase: 'reverting' as const, at: new Date().toISOString() };
  const writeError = await failureOf(deps, () => state.update({ ...failurePatch(deps, failed), attempt }));
  await recordFinishedOneShots(deps, failed.bundle.sha);
  const previous = state.state.applied_sha;
  const isLeft = previous === null || settings.on_failure === 'leave';
  const revertError = await failureOf(deps, () =>
    isLeft
      ? leaveForDiagnosis(deps, attempt)
      : whileCheckingIn(deps, { work: 'restore', wanted: failed.bundle.sha }, signal, (waiting) =>
          restoreRelease(deps, { sha: previous, pull: 'never' }, waiting),
        ),
  );
  if (writeError !== null) await failureOf(deps, () => state.update(failurePatch(deps, failed)));
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
export function failurePatch(deps: Dependencies, { bundle, ...input }: FailedAttempt) {
  const { failing } = deps.state.state;
  const line = input.outcome.lines[0] ?? 'failed';
  return { failing: recordFailure(failing, { sha: bundle.sha, line }, new Date()), ...outcomePatch(deps, input) };
}
