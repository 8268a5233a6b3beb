import type { FailedAttempt, RevertResult } from '../../../../machines/services.ts';
import type { Dependencies } from '../dependencies.ts';
import { pointCurrentToApplied } from '../release/restoreRelease.ts';
import { failureOf, failurePatch, revertRelease } from './revertRelease.ts';

/** After a failed pull: if no container was changed yet, only `current` is restored (spec §12). */
export async function restoreCurrent(
  deps: Dependencies,
  failed: FailedAttempt,
  signal: AbortSignal,
): Promise<RevertResult> {
  const { recordDecision, state } = deps;
  const mayHaveChangedContainers = !['promoted', undefined].includes(state.state.attempt?.phase);
  if (mayHaveChangedContainers) return revertRelease(deps, failed, signal);
  const restoreError = await failureOf(deps, async () =>
    recordDecision({ word: 'current-restored', sha: await pointCurrentToApplied(deps) }),
  );
  const attemptPatch = restoreError === null ? { attempt: null } : {};
  const { bundle, ...input } = failed;
  const failure = failurePatch(deps, { ...input, sha: bundle.sha }, state.state.failing);
  const writeError = await failureOf(deps, () => state.update({ ...failure, ...attemptPatch }));
  const errors = [restoreError, writeError].filter((error) => error !== null);
  return {
    reverted: false,
    tail: failed.outcome.tail,
    lines: [...failed.outcome.lines, ...errors.map(({ line }) => `not put back yet: ${line}`)],
  };
}
