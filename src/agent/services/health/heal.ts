import { endings } from '../../../../machines/endings.ts';
import { Fault } from '../../../../machines/fault.ts';
import { pausedOutcome, plainOutcome } from '../../../../machines/outcomes.ts';
import type { ObservedState, DesiredState, Outcome, ServiceProblem, Sha } from '../../../../machines/types.ts';
import { afterHealing, maxRow, planHealing, relapses } from '../../rules/health/healing.ts';
import { describeProblems, servicesOf } from '../../rules/health/unhealthyServices.ts';
import { enqueueReport } from '../../rules/state/reportOutbox.ts';
import { describeUnfinished, isTryDue } from '../../rules/state/revertTries.ts';
import { mayHealDespite } from '../../rules/state/desiredState.ts';
import type { State } from '../../rules/state/state.ts';
import { whileCheckingIn } from '../checkIn/checkIn.ts';
import { outcomePatch, reportOf } from '../checkIn/outcomePatch.ts';
import { pointCurrentToApplied, restoreRelease, RevertEnded } from '../release/restoreRelease.ts';
import { markNotApplied } from '../release/markNotApplied.ts';
import { redactFault } from '../redactFault.ts';
import type { Dependencies } from '../dependencies.ts';
import { tailOfProblems } from './logTail.ts';

type Attempt = NonNullable<State['attempt']>;

/** What a heal starts from. */
interface HealInput {
  observed: ObservedState;
  desired: DesiredState;
}

/** Starts the applied release again, once per tick, on an unhealthy host (spec §12). */
export async function heal(deps: Dependencies, input: HealInput, signal: AbortSignal): Promise<Outcome> {
  const { settings, state, tick } = deps;
  const { desired } = input;
  if (tick.engineFault) throw tick.engineFault;
  const { applied_sha, attempt } = state.state;
  const mayHeal = settings.heal && !(desired.retryDelay !== null && settings.on_failure === 'leave');
  if (applied_sha === null) return nothingToHeal(deps, desired);
  const reverted = await (await import('./lateFailure.ts')).revertLateFailure(deps, input, signal);
  if (reverted !== null) return reverted;
  if (!mayHeal && (attempt === null || isLeftForDiagnosis(attempt, desired) || attempt.phase === 'promoted'))
    return outcomeWithoutHealing(deps, input);
  const outcome = await healApplied(deps, { ...input, sha: applied_sha }, signal);
  if (outcome.ending === 'converged' && desired.retryDelay !== null) return pausedOutcome(desired.retryDelay);
  return outcome;
}

/**
 * Heals the applied release after a tick that failed and changed no container: an outage must not keep a dead service down
 * (spec §7.6). The outcome of the tick stays. After a failed check-in, a host that stays unhealthy is reported later.
 */
export async function healDespite(
  deps: Dependencies,
  { observed, desired, outcome }: { observed: ObservedState; desired: DesiredState | null; outcome: Outcome },
  signal: AbortSignal,
): Promise<Outcome> {
  const { settings, state, tick } = deps;
  const { applied_sha } = state.state;
  if (applied_sha === null || !mayHealDespite(state.state, { hold: tick.hold, onFailure: settings.on_failure }))
    return outcome;
  const assumed = desired ?? assumedDesired(state.state);
  const late = await (await import('./lateFailure.ts')).revertLateFailure(deps, { observed, desired: assumed }, signal);
  if (late !== null) {
    await state.update(outcomePatch(deps, { outcome: late, desired: assumed }));
    for (const line of late.lines) tick.journal.error(line);
    tick.remarks.push(...late.lines);
    return { ...outcome, tail: outcome.tail ?? late.tail };
  }
  const healed = settings.heal
    ? await healApplied(deps, { observed, desired: assumed, sha: applied_sha }, signal)
    : await outcomeWithoutHealing(deps, { observed, desired: assumed });
  if (healed.ending === 'converged') return outcome;
  for (const line of healed.lines) tick.journal.error(line);
  if (desired !== null && endings[outcome.ending].meta.report !== null) {
    tick.remarks.push(...healed.lines);
    return { ...outcome, tail: outcome.tail ?? healed.tail };
  }
  const report = reportOf(deps, { outcome: healed, desired: assumed, containers: observed.containers });
  const others = state.state.pending_reports.filter(
    ({ outcome: kind, detail }) => kind !== 'unhealthy' || detail !== report.detail,
  );
  await state.update({ pending_reports: enqueueReport(others, report) });
  return outcome;
}

/** What was desired at the last check-in that succeeded, and nothing to do. */
function assumedDesired({ applied_sha, last_check_in, production }: State): DesiredState {
  return {
    ...{ action: 'none', desiredSha: last_check_in?.desired_sha ?? null, appliedSha: applied_sha },
    ...{ sizeBytes: 0, production, purgeVolumes: false, reason: '' },
    ...{ retryDelay: null, emergency: false, deferral: null },
  };
}

/**
 * Cures the problems that are due. A service that is not, or that failed on too many ticks in a row, makes the outcome
 * `unhealthy`, whatever the heal achieved.
 */
async function healApplied(
  deps: Dependencies,
  { observed, desired, sha }: HealInput & { sha: Sha },
  signal: AbortSignal,
): Promise<Outcome> {
  const { state, tick } = deps;
  const { due, left } = planHealing(observed.problems, state.state.healing ?? {}, new Date());
  const { attempt, unreverted } = state.state;
  const isAttempt =
    attempt !== null || (!!unreverted && isTryDue(unreverted, observed.problems.length > 0, new Date()));
  const tail = await tailOfProblems(deps, observed.problems);
  const reason = desired.reason || `drift:${servicesOf(observed.problems).join(',')}`;
  if (due.length === 0 && !isAttempt) return { ...relapseOutcome(deps, { left, healed: [] }), reason, tail };
  const release = { sha, problems: due, left: isAttempt ? [] : servicesOf(left) };
  const purpose = { work: 'restore' as const, wanted: desired.desiredSha };
  try {
    await whileCheckingIn(deps, purpose, signal, (waiting) => restoreRelease(deps, release, waiting));
  } catch (error) {
    await recordHeals(deps, due);
    if (!(error instanceof Fault) || error.ending !== 'failed' || error.code === 'RUNTIME_UNAVAILABLE') throw error;
    if (desired.desiredSha === sha && error.code === 'RELEASE_INCOMPLETE')
      await markNotApplied(deps, sha, 'cannot run again as it did');
    const { code, lines, tail: output } = redactFault(deps, error);
    const ending = error instanceof RevertEnded ? 'failed' : 'unhealthy';
    return { ...plainOutcome(ending), code, lines, tail: output ?? tail, reason };
  }
  await recordHeals(deps, due);
  tick.journal.info(
    `healed: ${servicesOf(due).join(',') || 'the applied release was brought up again and is healthy'}`,
  );
  const relapsed = relapseOutcome(deps, { left, healed: due });
  if (relapsed.lines.length > 0) return { ...relapsed, reason, tail };
  const services = due.length > 0 ? servicesOf(due) : await serviceNamesOf(deps, sha);
  return { ...plainOutcome('converged'), reason: `healed:${services.join(',')}` };
}

/** The outcome of problems that stay, or came back too often; it has no lines when there are none. */
function relapseOutcome(
  { state }: Dependencies,
  { left, healed }: { left: readonly ServiceProblem[]; healed: readonly ServiceProblem[] },
): Outcome {
  const history = state.state.healing ?? {};
  const remaining = [...left, ...healed.filter(({ service }) => (history[service]?.row ?? 0) >= maxRow)];
  const { unreverted } = state.state;
  const words = [
    ...(remaining.length === 0
      ? []
      : [describeProblems(remaining), ...relapses(history, servicesOf(remaining), new Date())]),
    ...(unreverted ? [describeUnfinished(unreverted)] : []),
  ];
  const lines = words.length === 0 ? [] : [`unhealthy: ${words.join('; ')}`];
  return { ...plainOutcome('unhealthy'), code: 'UNHEALTHY', lines };
}

/** Counts a heal of each service that had failed; the next ones have to wait. */
async function recordHeals({ state }: Dependencies, due: readonly ServiceProblem[]): Promise<void> {
  const failed = servicesOf(due.filter(({ isFailure }) => isFailure));
  if (failed.length > 0) await state.update({ healing: afterHealing(state.state.healing ?? {}, failed, new Date()) });
}

/** After an interrupted first apply that is no longer desired: no release is applied, which counts as healthy (spec §7.3). */
async function nothingToHeal(deps: Dependencies, { retryDelay }: DesiredState): Promise<Outcome> {
  await pointCurrentToApplied(deps);
  await deps.state.update({ attempt: null, unreverted: null });
  return retryDelay === null ? plainOutcome('converged') : pausedOutcome(retryDelay);
}

/**
 * With `heal: false`: an attempt that was interrupted before it changed containers is reverted by restoring `current`; an attempt
 * to apply the applied release again is over once that release is healthy by itself.
 */
async function outcomeWithoutHealing(deps: Dependencies, { observed, desired }: HealInput): Promise<Outcome> {
  const { applied_sha, attempt, unreverted } = deps.state.state;
  const isOver =
    attempt?.phase === 'promoted' || (attempt?.sha === applied_sha && observed.unhealthyServices.length === 0);
  if (attempt !== null && isOver) {
    if (attempt.phase === 'promoted') await pointCurrentToApplied(deps);
    await deps.state.update({ attempt: null, baseline: null });
  }
  const { retryDelay, reason } = desired;
  if (retryDelay !== null) return pausedOutcome(retryDelay);
  if (isOver && observed.unhealthyServices.length === 0) return plainOutcome('converged');
  const unfinished = unreverted && describeUnfinished(unreverted);
  const what =
    [describeProblems(observed.problems), unfinished].filter(Boolean).join('; ') ||
    `the attempt of ${attempt?.sha ?? 'a release'} was left half made`;
  const tail = await tailOfProblems(deps, observed.problems);
  return { ...plainOutcome('unhealthy'), code: 'UNHEALTHY', lines: [`unhealthy: ${what}`], tail, reason };
}

/** True for an attempt kept for diagnosis (`on_failure: leave`) whose bundle is still desired; others are finished or reverted. */
function isLeftForDiagnosis({ sha, phase }: Attempt, { desiredSha }: DesiredState): boolean {
  return phase === 'left' && sha === desiredSha;
}

async function serviceNamesOf({ releases }: Dependencies, sha: string): Promise<string[]> {
  return ((await releases.readRecord(sha))?.services ?? []).map(({ name }) => name).sort();
}
