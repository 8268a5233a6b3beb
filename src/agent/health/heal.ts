import { uptime } from 'node:os';
import { endings } from '../../../machines/endings.ts';
import { Fault, faultOf, pausedOutcome, plainOutcome } from '../../../machines/fault.ts';
import type { ApplyStart } from '../../../machines/services.ts';
import type { DesiredState, ObservedState, Outcome, ServiceProblem, Sha } from '../../../machines/types.ts';
import { type RevertDependencies, revertTo } from '../apply/revert.ts';
import { whileCheckingIn } from '../checkIn/checkIn.ts';
import { mayHealDespite } from '../checkIn/desiredState.rules.ts';
import { outcomePatch, reportOf } from '../checkIn/reports.ts';
import { tailOfProblems } from '../engine/containerLogs.ts';
import { redactFault } from '../journal/journal.ts';
import { markNotApplied } from '../release/down.ts';
import { expectedServices, type ReleaseRecord } from '../release/record.rules.ts';
import { pointCurrentToApplied, restoreRelease, RevertEnded } from '../release/restoreRelease.ts';
import { describeUnfinished, isTryDue } from '../release/revertTries.rules.ts';
import { enqueueReport, nothingApplied, type State } from '../state/state.rules.ts';
import { afterHealing, maxRow, planHealing, relapses } from './healing.rules.ts';
import { isWithdrawn, unhealthyFault } from './observeHost.ts';
import { describeProblems, servicesOf, type WatchedContainer, lateFailures } from './unhealthyServices.rules.ts';
import type { Containers } from '../engine/containers.ts';

/** Dependencies of healing: it may start the applied release again, or revert to the previous one. */
export interface HealDependencies extends RevertDependencies {
  readonly containers: Containers;
}

type Attempt = NonNullable<State['attempt']>;

/** The input of a heal. */
interface HealInput extends Pick<ApplyStart, 'hold'> {
  observed: ObservedState;
  desired: DesiredState;
}

/** Starts the applied release again, once per tick, on an unhealthy host (spec §12). */
export async function heal(deps: HealDependencies, input: HealInput, signal: AbortSignal): Promise<Outcome> {
  const { settings, state } = deps;
  const { desired, observed } = input;
  if (observed.engineFault !== null) throw faultOf(observed.engineFault);
  const { applied_sha, attempt } = state.state;
  const mayHeal = settings.heal && !(desired.retryDelay !== null && settings.on_failure === 'leave');
  if (applied_sha === null) return nothingToHeal(deps, desired);
  await stopWithdrawn(deps, observed);
  const reverted = await revertLateFailure(deps, input, signal);
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
  deps: HealDependencies,
  {
    observed,
    desired,
    hold,
    outcome,
  }: Omit<HealInput, 'desired'> & {
    desired: DesiredState | null;
    outcome: Outcome;
  },
  signal: AbortSignal,
): Promise<Outcome> {
  const { settings, state, tick } = deps;
  const { applied_sha } = state.state;
  if (applied_sha === null || !mayHealDespite(state.state, { hold, onFailure: settings.on_failure })) return outcome;
  await stopWithdrawn(deps, observed);
  const assumed = desired ?? assumedDesired(state.state);
  const late = await revertLateFailure(deps, { observed, desired: assumed, hold }, signal);
  if (late !== null) {
    await state.update(outcomePatch(deps, { outcome: late, desired: assumed }));
    for (const line of late.lines) tick.journal.error(line);
    tick.journal.remarks.push(...late.lines);
    return { ...outcome, tail: outcome.tail ?? late.tail };
  }
  const healed = settings.heal
    ? await healApplied(deps, { observed, desired: assumed, hold, sha: applied_sha }, signal)
    : await outcomeWithoutHealing(deps, { observed, desired: assumed, hold });
  if (healed.ending === 'converged') return outcome;
  for (const line of healed.lines) tick.journal.error(line);
  if (desired !== null && endings[outcome.ending].meta.report !== null) {
    tick.journal.remarks.push(...healed.lines);
    return { ...outcome, tail: outcome.tail ?? healed.tail };
  }
  const report = reportOf(deps, { outcome: healed, desired: assumed, containers: observed.containers });
  const others = state.state.pending_reports.filter(
    ({ outcome: kind, detail }) => kind !== 'unhealthy' || detail !== report.detail,
  );
  await state.update({ pending_reports: enqueueReport(others, report) });
  return outcome;
}

/** Stops the running containers of services that the host no longer permits, with `on_withdrawal: stop`. */
async function stopWithdrawn({ containers, tick }: HealDependencies, { problems }: ObservedState): Promise<void> {
  const names = new Set(problems.filter(isWithdrawn).map(({ service }) => service));
  if (names.size === 0) return;
  const isRunning = (state: string) => ['running', 'restarting', 'paused'].includes(state);
  for (const { id, name } of (await containers.list()).filter(
    (each) => names.has(each.service) && isRunning(each.state),
  )) {
    await containers.stopContainer(id);
    tick.journal.warn(`stopped: ${name}, which is no longer permitted`);
  }
}

/** The desired state of the last successful check-in, without an action. */
function assumedDesired({ applied_sha, last_check_in, production }: State): DesiredState {
  return {
    ...{ action: 'none', desiredSha: last_check_in?.desired_sha ?? null, appliedSha: applied_sha },
    ...{ sizeBytes: 0, production, purgeVolumes: false, reason: '' },
    ...{ retryDelay: null, emergency: false, deferral: null },
  };
}

/**
 * Heals the problems that are due. A service that is not due, or that failed on too many ticks in a row, makes the
 * outcome `unhealthy`, whatever the heal achieved.
 */
async function healApplied(
  deps: HealDependencies,
  { observed, desired, hold, sha }: HealInput & { sha: Sha },
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
  const purpose = { work: 'restore' as const, wanted: desired.desiredSha, hold };
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

/** The outcome of problems that remain or return too often; it has no lines when there are no problems. */
function relapseOutcome(
  { state }: HealDependencies,
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
async function recordHeals({ state }: HealDependencies, due: readonly ServiceProblem[]): Promise<void> {
  const failed = servicesOf(due.filter(({ isFailure }) => isFailure));
  if (failed.length > 0) await state.update({ healing: afterHealing(state.state.healing ?? {}, failed, new Date()) });
}

/** After an interrupted first apply that is no longer desired: no release is applied, which counts as healthy (spec §7.3). */
async function nothingToHeal(deps: HealDependencies, { retryDelay }: DesiredState): Promise<Outcome> {
  await pointCurrentToApplied(deps);
  await deps.state.update({ attempt: null, unreverted: null });
  return retryDelay === null ? plainOutcome('converged') : pausedOutcome(retryDelay);
}

/**
 * With `heal: false`: an attempt that was interrupted before it changed containers is reverted by restoring `current`; an attempt
 * to apply the applied release again is over once that release is healthy by itself.
 */
async function outcomeWithoutHealing(deps: HealDependencies, { observed, desired }: HealInput): Promise<Outcome> {
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

async function serviceNamesOf({ releases }: HealDependencies, sha: string): Promise<string[]> {
  return ((await releases.readRecord(sha))?.services ?? []).map(({ name }) => name).sort();
}

/**
 * Reverts a release like a failed apply if a service without a restart policy ended with an error soon after the apply.
 * The outcome is `failed`, and the pause before the next try grows. Null if there is no such service.
 */
async function revertLateFailure(
  deps: HealDependencies,
  { observed, desired, hold }: HealInput,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const { orchestrator, releases, state } = deps;
  const { applied_sha, attempt, trial } = state.state;
  if (applied_sha === null || attempt !== null || trial?.sha !== applied_sha || orchestrator.isShared) return null;
  const record = await releases.readRecord(applied_sha);
  const fault = record && (await lateFault(deps, record, observed));
  if (!fault) return null;
  const outcome = {
    ...plainOutcome('failed'),
    code: fault.code,
    lines: fault.lines,
    tail: fault.tail,
    reason: desired.reason,
  };
  const previous = await previousRelease(deps, trial.previous);
  const patch = { ...appliedFacts(previous), trial: null };
  const wayBack = { before: trial.failing, previous: previous?.sha ?? null, patch, services: null, hold };
  const result = await revertTo(deps, { sha: applied_sha, desired, outcome, ...wayBack }, signal);
  return { ...outcome, ...result };
}

/** The fault of the services that failed late; null if no service did. */
async function lateFault(
  deps: HealDependencies,
  record: ReleaseRecord,
  { unhealthyServices }: ObservedState,
): Promise<Fault | null> {
  const { containers, settings, state } = deps;
  const services = expectedServices(record);
  const suspects = services.filter(({ name, kind }) => kind === 'once' && unhealthyServices.includes(name));
  const appliedMs = Date.parse(state.state.applied_at ?? '');
  if (suspects.length === 0 || Number.isNaN(appliedMs)) return null;
  const times = {
    appliedMs,
    windowMs: settings.health_timeout_s * 1000,
    bootMs: Date.now() - uptime() * 1000,
  };
  const failed = lateFailures(await containers.list(), { ...record, services: suspects }, times);
  if (failed.length === 0) return null;
  const names = new Set(failed.map(({ service }) => service));
  const watched = failed.map((container): WatchedContainer => ({ container, healthStatus: 'failed', lastExit: null }));
  const waitedMs = Math.max(0, ...failed.map(({ finishedMs = appliedMs }) => finishedMs - appliedMs));
  return unhealthyFault(deps, watched, { expected: services.filter(({ name }) => names.has(name)), waitedMs });
}

/** The record of the previous release, if that is still on the disk. */
async function previousRelease({ releases }: HealDependencies, sha: string | null): Promise<ReleaseRecord | null> {
  return sha !== null && (await releases.exists(sha)) ? releases.readRecord(sha) : null;
}

/** The state patch for the release that is applied from now on; null for no release. */
function appliedFacts(record: ReleaseRecord | null): Partial<State> {
  if (record === null) return nothingApplied;
  return {
    applied_sha: record.sha,
    applied_at: new Date().toISOString(),
    applied_version: record.version,
    applied_signers: record.signers ?? [],
    applied_root: record.trust_root ?? null,
    applied_images: record.verified_images ?? [],
  };
}
