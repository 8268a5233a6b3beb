import { Fault } from '../../../../machines/fault.ts';
import { pausedOutcome, plainOutcome } from '../../../../machines/outcomes.ts';
import type { ObservedState, DesiredState, Outcome } from '../../../../machines/types.ts';
import type { State } from '../../rules/state/state.ts';
import { pointCurrentToApplied, restoreRelease } from '../release/restoreRelease.ts';
import { markNotApplied } from '../release/markNotApplied.ts';
import type { Dependencies } from '../dependencies.ts';

type Attempt = NonNullable<State['attempt']>;

/** Starts the applied release again, once per tick, on an unhealthy host (spec §12). */
export async function heal(
  deps: Dependencies,
  { observed, desired }: { observed: ObservedState; desired: DesiredState },
  signal: AbortSignal,
): Promise<Outcome> {
  const { settings, state, tick } = deps;
  if (tick.engineFault) throw tick.engineFault;
  const { applied_sha, attempt } = state.state;
  const mayHeal = settings.heal && !(desired.retryDelay !== null && settings.on_failure === 'leave');
  if (applied_sha === null) return nothingToHeal(deps, desired);
  if (!mayHeal && (attempt === null || isLeftForDiagnosis(attempt, desired) || attempt.phase === 'promoted'))
    return outcomeWithoutHealing(deps, { observed, desired });
  try {
    await restoreRelease(deps, { sha: applied_sha, pull: 'missing' }, signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'failed' || error.code === 'RUNTIME_UNAVAILABLE') throw error;
    if (desired.desiredSha === applied_sha) await requestReapply(deps, applied_sha, error);
    return {
      ...plainOutcome('unhealthy'),
      code: error.code,
      lines: error.lines,
      tail: error.tail,
      reason: desired.reason,
    };
  }
  tick.journal.info(
    `healed: ${observed.unhealthyServices.join(',') || 'the applied release was brought up again and is well'}`,
  );
  if (desired.retryDelay !== null) return pausedOutcome(desired.retryDelay);
  const services =
    observed.unhealthyServices.length > 0 ? observed.unhealthyServices : await serviceNamesOf(deps, applied_sha);
  return { ...plainOutcome('converged'), reason: `healed:${services.join(',')}` };
}

/** Requests an apply of the same bundle when healing cannot succeed: an apply has registry logins and may use newer images. */
async function requestReapply(deps: Dependencies, sha: string, { code }: Fault): Promise<void> {
  if (code === 'UP_FAILED')
    await (await import('../release/missingImages.ts')).markNotAppliedIfImagesMissing(deps, sha);
  if (code === 'RELEASE_INCOMPLETE') await markNotApplied(deps, sha, 'cannot run again as it did');
}

/** After an interrupted first apply that is no longer desired: no release is applied, which counts as healthy (spec §7.3). */
async function nothingToHeal(deps: Dependencies, { retryDelay }: DesiredState): Promise<Outcome> {
  await pointCurrentToApplied(deps);
  await deps.state.update({ attempt: null });
  return retryDelay === null ? plainOutcome('converged') : pausedOutcome(retryDelay);
}

/**
 * With `heal: false`: an attempt that was interrupted before it changed containers is reverted by restoring `current`; an attempt
 * to apply the applied release again is over once that release is healthy by itself.
 */
async function outcomeWithoutHealing(
  deps: Dependencies,
  { observed, desired }: { observed: ObservedState; desired: DesiredState },
): Promise<Outcome> {
  const { applied_sha, attempt } = deps.state.state;
  const isOver =
    attempt?.phase === 'promoted' || (attempt?.sha === applied_sha && observed.unhealthyServices.length === 0);
  if (attempt !== null && isOver) {
    if (attempt.phase === 'promoted') await pointCurrentToApplied(deps);
    await deps.state.update({ attempt: null, baseline: null });
  }
  const { retryDelay, reason } = desired;
  if (retryDelay !== null) return pausedOutcome(retryDelay);
  if (isOver && observed.unhealthyServices.length === 0) return plainOutcome('converged');
  const what =
    observed.unhealthyServices.join(', ') || `the attempt of ${attempt?.sha ?? 'a release'} was left half made`;
  return { ...plainOutcome('unhealthy'), code: 'UNHEALTHY', lines: [`unhealthy: ${what}`], reason };
}

/** True for an attempt kept for diagnosis (`on_failure: leave`) whose bundle is still desired; others are finished or reverted. */
function isLeftForDiagnosis({ sha, phase }: Attempt, { desiredSha }: DesiredState): boolean {
  return phase === 'left' && sha === desiredSha;
}

async function serviceNamesOf({ releases }: Dependencies, sha: string): Promise<string[]> {
  return ((await releases.readRecord(sha))?.services ?? []).map(({ name }) => name).sort();
}
