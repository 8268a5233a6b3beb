import type { DesiredState } from '../../../../machines/types.ts';
import { whileCheckingIn } from '../checkIn/checkIn.ts';
import { Fault } from '../../../../machines/fault.ts';
import { redactFault } from '../redactFault.ts';
import type { Dependencies } from '../dependencies.ts';
import { pointCurrentToApplied, restoreRelease, RevertEnded } from './restoreRelease.ts';

/**
 * Reverts an interrupted attempt when no new apply could start (spec §12.5): a refusal or an outage must not leave the host
 * half applied. What a lost state left is no attempt, and stays as it is under a hold (spec §19.5). Only `current` is restored when
 * no container was changed or no release was applied before.
 */
export async function revertInterrupted(
  deps: Dependencies,
  { desired }: { desired: DesiredState | null },
  signal: AbortSignal,
): Promise<void> {
  const { recordDecision, state, tick } = deps;
  const { applied_sha, attempt } = state.state;
  if (attempt === null || attempt.phase === 'left') return;
  if (attempt.phase === 'unknown' && tick.hold !== null) return;
  if (applied_sha === null || attempt.phase === 'promoted') {
    recordDecision({ word: 'current-restored', sha: await pointCurrentToApplied(deps) });
    await state.update({ attempt: null });
  } else {
    const wanted = desired?.desiredSha ?? state.state.last_check_in?.desired_sha ?? null;
    await whileCheckingIn(deps, { work: 'restore', wanted }, signal, (waiting) =>
      restoreRelease(deps, { sha: applied_sha }, waiting),
    ).catch((error: unknown) => {
      if (error instanceof Fault && error.ending === 'failed') {
        const words = redactFault(deps, error).lines.join('; ');
        tick.remarks.push(error instanceof RevertEnded ? words : `revert not finished: ${words}`);
      }
      throw error;
    });
    recordDecision({ word: 'interrupted-reverted', sha: applied_sha });
    tick.journal.info(`mended: the half-made attempt of ${attempt.sha} was undone, ${applied_sha} is in force`);
  }
}
