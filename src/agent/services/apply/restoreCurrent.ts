import type { FailedAttempt, RevertResult } from '../../../../machines/services.ts';
import type { Dependencies } from '../dependencies.ts';
import { pointCurrentToApplied } from '../release/restoreRelease.ts';
import { failureMessageOf, failurePatch, revertRelease } from './revertRelease.ts';

/** After a failed pull: if no container was changed yet, only `current` is restored (spec §12). */
export async function restoreCurrent(
  deps: Dependencies,
  failed: FailedAttempt,
  signal: AbortSignal,
): Promise<RevertResult> {
  const { recordDecision, state } = deps;
  const mayHaveChangedContainers = !['promoted', undefined].includes(state.state.attempt?.phase);
  if (mayHaveChangedContainers) return revertRelease(deps, failed, signal);
  const restoreError = await failureMessageOf(async () =>
    recordDecision({ word: 'current-restored', sha: await pointCurrentToApplied(deps) }),
  );
  const attemptPatch = restoreError === null ? { attempt: null } : {};
  const writeError = await failureMessageOf(() => state.update({ ...failurePatch(deps, failed), ...attemptPatch }));
  const errors = [restoreError, writeError].filter((message) => message !== null);
  return {
    reverted: false,
    lines: [...failed.outcome.lines, ...errors.map((message) => `not put back yet: ${message}`)],
  };
}
