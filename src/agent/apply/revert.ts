import { Fault } from '../../../machines/fault.ts';
import type { RevertResult } from '../../../machines/services.ts';
import type { DesiredState, Sha } from '../../../machines/types.ts';
import { type CheckInDependencies, whileCheckingIn } from '../checkIn/checkIn.ts';
import { outcomePatch } from '../checkIn/reports.ts';
import { joinTails } from '../engine/containerLogs.ts';
import { redactFault, type RunningTick } from '../journal/journal.ts';
import { recordFinishedOneShots } from '../release/fingerprints.ts';
import {
  pointCurrentToApplied,
  type RestoreDependencies,
  restoreRelease,
  RevertEnded,
} from '../release/restoreRelease.ts';
import type { FailingBundle, State } from '../state/state.rules.ts';
import type { Vault } from '../secrets/vault.ts';
import type { FailedApply, Orchestrator } from '../release/orchestrator.ts';
import { recordFailure } from '../checkIn/backoff.rules.ts';
import type { ServiceFingerprints } from '../release/services.rules.ts';

/** Dependencies of a revert to the applied release. */
export interface RevertDependencies extends RestoreDependencies, CheckInDependencies {
  readonly orchestrator: Orchestrator;
  readonly tick: RunningTick;
}

/**
 * After a failed up or health wait: starts the previous release again, from local images and its own `.env`.
 * - The failure is recorded first; if the disk does not take it, again at the end.
 * - The attempt stays recorded until the previous release is healthy, so that the next tick can continue.
 * - SIGTERM ends the revert but not the outcome, which is decided and must be reported.
 */
export async function revertRelease(
  deps: RevertDependencies,
  { bundle, release, ...failed }: FailedApply,
  signal: AbortSignal,
): Promise<RevertResult> {
  const { applied_sha, failing } = deps.state.state;
  const wayBack = { before: failing, previous: applied_sha, patch: {} };
  return revertTo(deps, { ...failed, sha: bundle.sha, services: release.services, ...wayBack }, signal);
}

/** A bundle that failed. */
interface FailedBundle extends Pick<FailedApply, 'desired' | 'outcome'> {
  sha: Sha;
}

/** How to revert it. */
interface WayBack extends Pick<FailedApply, 'hold'> {
  /** The services of the failed bundle; null when this tick did not render them. */
  services: ServiceFingerprints | null;
  /** The failure that was recorded before. */
  before: FailingBundle | null;
  /** The release to start again; null if there is no such release. */
  previous: Sha | null;
  /** Further changes in the write that records the failure. */
  patch: Partial<State>;
}

/** The same with the facts of the failure, for a bundle that may have been applied. */
export async function revertTo(
  deps: RevertDependencies,
  { before, previous, patch, services, hold, ...failed }: FailedBundle & WayBack,
  signal: AbortSignal,
): Promise<RevertResult> {
  const { recordDecision, settings, state, tick } = deps;
  const attempt = { sha: failed.sha, phase: 'reverting' as const, at: new Date().toISOString() };
  const failure = { ...patch, ...failurePatch(deps, failed, before) };
  const writeError = await failureOf(deps, () => state.update({ ...failure, attempt }));
  await recordFinishedOneShots(deps, failed.sha, services);
  const isLeft = previous === null || settings.on_failure === 'leave';
  const revertError = await failureOf(deps, () =>
    isLeft
      ? leaveForDiagnosis(deps, attempt)
      : whileCheckingIn(deps, { work: 'restore', wanted: failed.sha, hold }, signal, (waiting) =>
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
  if (reverted) tick.journal.info(`reverted: the previous release ${previous} is current and healthy`);
  const tail = revertError?.tail
    ? joinTails(failed.outcome.tail, `--- revert\n${revertError.tail}`)
    : failed.outcome.tail;
  return { reverted, lines, tail };
}

/** Keeps the containers of the failed bundle for diagnosis and restores only `current`. */
async function leaveForDiagnosis(deps: RevertDependencies, attempt: { sha: string; at: string }): Promise<void> {
  const previous = await pointCurrentToApplied(deps);
  await deps.state.update({ attempt: previous === null ? null : { ...attempt, phase: 'left' } });
}

/** Line and tail of a failed revert step without secrets, null on success; the next step runs in both cases. */
async function failureOf(
  { vault }: { vault: Vault },
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
function failurePatch(deps: RevertDependencies, { sha, ...input }: FailedBundle, before: FailingBundle | null) {
  const line = input.outcome.lines[0] ?? 'failed';
  return { failing: recordFailure(before, { sha, line }, new Date()), ...outcomePatch(deps, input) };
}

/** After a failed pull: if no container was changed yet, only `current` is restored (spec §12). */
export async function restoreCurrent(
  deps: RevertDependencies,
  failed: FailedApply,
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

/**
 * Reverts an interrupted attempt when no new apply could start (spec §12.5): a refusal or an outage must not leave the
 * host half applied. The containers that remain after a lost state are not an attempt, and a hold keeps them unchanged
 * (spec §19.5). Only `current` is restored when no container was changed or no release was applied before.
 */
export async function revertInterrupted(
  deps: RevertDependencies,
  { desired, hold }: Pick<FailedApply, 'hold'> & { desired: DesiredState | null },
  signal: AbortSignal,
): Promise<void> {
  const { recordDecision, state, tick } = deps;
  const { applied_sha, attempt } = state.state;
  if (attempt === null || attempt.phase === 'left') return;
  if (attempt.phase === 'unknown' && hold !== null) return;
  if (applied_sha === null || attempt.phase === 'promoted') {
    recordDecision({ word: 'current-restored', sha: await pointCurrentToApplied(deps) });
    await state.update({ attempt: null });
  } else {
    const wanted = desired?.desiredSha ?? state.state.last_check_in?.desired_sha ?? null;
    await whileCheckingIn(deps, { work: 'restore', wanted, hold }, signal, (waiting) =>
      restoreRelease(deps, { sha: applied_sha }, waiting),
    ).catch((error: unknown) => {
      if (error instanceof Fault && error.ending === 'failed') {
        const words = redactFault(deps, error).lines.join('; ');
        tick.journal.remarks.push(error instanceof RevertEnded ? words : `revert not finished: ${words}`);
      }
      throw error;
    });
    recordDecision({ word: 'interrupted-reverted', sha: applied_sha });
    tick.journal.info(`undone: the interrupted apply of ${attempt.sha}; ${applied_sha} is current`);
  }
}
