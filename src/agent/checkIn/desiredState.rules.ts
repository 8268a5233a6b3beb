import type { Deferral, DesiredState, ObservedState, RetryDelay, Sha, StandingHold } from '../../../machines/types.ts';
import type { DeferringFacts, ToldHold } from '../../api/checkIn.rules.ts';
import { isOpen, nextOpening, type TimeWindow } from '../../api/timeWindow.rules.ts';
import type { State } from '../state/state.rules.ts';
import { formatStanding } from './hold.rules.ts';
import { secondsUntilRetry } from './backoff.rules.ts';
import type { CheckInResponse } from '../../api/answers.rules.ts';

/** The facts of this host at the time of the check-in. */
interface DesiredStateInput extends DeferralInput {
  state: State;
  observed: ObservedState;
  /** Config `production`. */
  production: boolean;
}

/** The desired state of this tick: the check-in response combined with the facts of this host (spec §5). */
export function desiredStateOf(response: CheckInResponse, input: DesiredStateInput): DesiredState {
  const { state } = input;
  return {
    action: response.action,
    desiredSha: response.desiredSha,
    appliedSha: state.applied_sha,
    sizeBytes: response.sizeBytes,
    production: input.production || response.production || state.production,
    purgeVolumes: response.purgeVolumes,
    reason: reasonOf(response, input),
    retryDelay: retryDelayOf(response, input),
    emergency: isEmergency(response, input),
    deferral: deferralOf(response, input),
  };
}

/** The purpose of a wait, and the bundle that was desired when it began; null if that was unknown. */
export interface WaitPurpose {
  work: 'apply' | 'restore' | 'down';
  wanted: Sha | null;
}

/**
 * The new desired state that ends a wait, in words; null when the wait continues. A wait that restores the applied
 * release continues when that release is desired again. A down always continues.
 */
export function supersededBy(desired: DesiredState, { work, wanted }: WaitPurpose): string | null {
  const { action, desiredSha, deferral, retryDelay } = desired;
  if (work === 'down' || deferral !== null || retryDelay !== null) return null;
  if (action === 'down') return 'a down is announced';
  const isOther = desiredSha !== wanted && (action === 'apply' || work === 'apply');
  return isOther ? `${desiredSha ?? 'nothing'} is announced` : null;
}

/**
 * True when the applied release is healed although the tick failed. It is not healed under a hold, before a pending
 * down, after an interrupted attempt, or if a failed release was kept for diagnosis (spec §7.6).
 */
export function mayHealDespite(
  { attempt, failing, last_check_in }: State,
  { hold, onFailure }: { hold: StandingHold | null | undefined; onFailure: 'revert' | 'leave' },
): boolean {
  const isLeft = onFailure === 'leave' && failing !== null;
  return hold === null && attempt === null && last_check_in?.action !== 'down' && !isLeft;
}

function reasonOf(response: CheckInResponse, { state, observed }: DesiredStateInput): string {
  if (observed.leader !== null) return `leader:${observed.leader}`;
  if (response.action !== 'apply') return response.action === 'down' ? 'retired' : driftOf(observed);
  if (response.desiredSha === state.applied_sha) return observed.healthy ? 'reapply' : driftOf(observed);
  if (state.failing?.sha === response.desiredSha) return `retry:${state.failing.count}`;
  if (state.attempt?.sha === response.desiredSha) return `resume:${state.attempt.phase}`;
  return 'sha_changed';
}

function driftOf({ unhealthyServices }: ObservedState): string {
  return unhealthyServices.length > 0 ? `drift:${unhealthyServices.join(',')}` : '';
}

function retryDelayOf(response: CheckInResponse, { state, now }: DesiredStateInput): RetryDelay | null {
  const retryInS = response.action === 'apply' ? secondsUntilRetry(state.failing, response.desiredSha, now) : 0;
  if (retryInS === 0 || !state.failing) return null;
  return { line: `${state.failing.line}; retry in ${retryInS}s`, retryInS };
}

/** The facts of this host that can defer the work of a tick. */
interface Restraints {
  hold: StandingHold | null;
  /** Config `apply.windows`. */
  windows: readonly TimeWindow[];
}

/** The desired state, and the current state of this host. */
export interface DeferralInput extends Restraints {
  /** Config `apply.emergency`. */
  obeysEmergency: boolean;
  state: Pick<State, 'applied_sha' | 'attempt'>;
  observed: Pick<ObservedState, 'leader' | 'healthy' | 'unhealthyServices'>;
  now: Date;
}

/**
 * Why the desired state is deferred; null if it is not. If another node leads the swarm, that node does all work. A
 * hold defers everything; windows defer only the change to another bundle. An interrupted attempt is not deferred: it
 * is completed while its bundle is desired, otherwise reverted. A failed attempt whose revert was interrupted is
 * reverted; its next retry waits. A release that was taken for applied after a lost state is not an attempt: under a
 * hold its check is also deferred.
 */
export function deferralOf(response: CheckInResponse, input: DeferralInput): Deferral | null {
  const { attempt } = input.state;
  const { action, desiredSha } = response;
  const { leader, healthy } = input.observed;
  if (action === 'none' && healthy) return null;
  if (leader !== null) {
    const line = `${leader} leads the swarm: ${workOf(response, input)} is its work`;
    return { ending: 'converged', reason: `leader:${leader}`, line, mayHeal: false };
  }
  const { hold } = input;
  const isLeft = attempt?.phase === 'left';
  const isUnverified = attempt?.phase === 'unknown';
  const isCutShort = attempt !== null && !isLeft && !(isUnverified && hold !== null);
  if (isCutShort && attempt.phase !== 'reverting' && action === 'apply' && attempt.sha === desiredSha) return null;
  if (hold !== null) {
    const line = `held ${formatStanding(hold)}; ${workOf(response, input)} waits`;
    return { ending: 'held', reason: 'waits:hold', line, mayHeal: isCutShort };
  }
  const opening = changesBundle(response, input) ? openingOf(input) : null;
  if (opening === null || isEmergency(response, input)) return null;
  const line = `outside the windows of this host: ${workOf(response, input)} waits until ${opening}`;
  return { ending: 'outsideWindow', reason: 'waits:window', line, mayHeal: !isLeft || attempt.sha !== desiredSha };
}

/** True for an announced emergency that this host permits. It overrides windows, never a hold. */
function isEmergency({ emergency }: CheckInResponse, { obeysEmergency }: DeferralInput): boolean {
  return emergency && obeysEmergency;
}

/** The current reasons for deferral, as check-ins, status and plans show them. */
export function deferringFactsOf({ hold, windows }: Restraints, now: Date): DeferringFacts {
  const opening = openingOf({ windows, now });
  return {
    ...(hold !== null && { hold: toldHold(hold) }),
    ...(opening !== null && { window_opens_at: opening }),
  };
}

function toldHold({ isDamaged: _, ...told }: StandingHold): ToldHold {
  return told;
}

/** The same as lines of text. */
export function deferringLines({ hold, window_opens_at }: DeferringFacts): string[] {
  return [
    ...(hold === undefined ? [] : [`held ${formatStanding(hold)}`]),
    ...(window_opens_at === undefined ? [] : [`all windows are closed; the next opens at ${window_opens_at}`]),
  ];
}

/** Without an applied release, a window has nothing to protect. */
function changesBundle({ action, desiredSha }: CheckInResponse, { state }: DeferralInput): boolean {
  return action === 'apply' && state.applied_sha !== null && state.applied_sha !== desiredSha;
}

/** Next opening of a window; null while one is open, and without windows. */
function openingOf({ windows, now }: Pick<DeferralInput, 'windows' | 'now'>): string | null {
  const at = now.getTime();
  return isOpen(windows, at) ? null : new Date(nextOpening(windows, at)).toISOString();
}

function workOf({ action, desiredSha }: CheckInResponse, { state, observed }: DeferralInput): string {
  if (action === 'apply') return `apply of ${desiredSha ?? 'nothing'}`;
  if (action === 'down') return 'the down of a retirement';
  if (observed.unhealthyServices.length > 0) return `healing of ${observed.unhealthyServices.join(', ')}`;
  if (state.attempt === null) return 'healing of a host whose container engine does not answer';
  return state.attempt.phase === 'unknown'
    ? 'the check of the release after the state was lost'
    : 'healing after an interrupted apply';
}
