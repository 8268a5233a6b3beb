import type { DesiredState, ObservedState, RetryDelay, Sha } from '../../../../machines/types.ts';
import type { CheckInResponse } from '../../../api/checkIn.rules.ts';
import { type DeferralInput, deferralOf, isEmergency } from '../schedule/deferral.ts';
import type { StandingHold } from '../schedule/hold.ts';
import { secondsUntilRetry } from '../schedule/retryBackoff.ts';
import type { State } from './state.ts';

/** The facts of this host at the time of the check-in. */
export interface DesiredStateInput extends DeferralInput {
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

/** What a wait is for, and the bundle that was desired when it began; null when that was not known. */
export interface WaitPurpose {
  work: 'apply' | 'restore' | 'down';
  wanted: Sha | null;
}

/**
 * What is desired now in place of what a wait is for, in words; null when the wait goes on. A wait that restores the applied
 * release goes on when that is desired again, and a down always.
 */
export function supersededBy(desired: DesiredState, { work, wanted }: WaitPurpose): string | null {
  const { action, desiredSha, deferral, retryDelay } = desired;
  if (work === 'down' || deferral !== null || retryDelay !== null) return null;
  if (action === 'down') return 'a down is announced';
  const isOther = desiredSha !== wanted && (action === 'apply' || work === 'apply');
  return isOther ? `${desiredSha ?? 'nothing'} is announced` : null;
}

/**
 * True when the applied release is healed although the tick failed: not under a hold, before a down that could not be done yet,
 * over an attempt, or where a failed release was left for diagnosis (spec §7.6).
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
