import { fromPromise, type PromiseActorLogic } from 'xstate';
import type { Bundle, AvailableCredentials, ObservedState, DesiredState, Outcome, RunOptions } from './types.ts';

/**
 * Declares a service that the machines invoke, by name, input and output; `src/agent/services.ts` provides the
 * implementations. A service without one rejects with its name.
 */
function declareService<TOutput = void, TInput = void>(name: string): PromiseActorLogic<TOutput, TInput> {
  return fromPromise<TOutput, TInput>(() => Promise.reject(new Error(`service "${name}" was not provided`)));
}

/** Stands in for an action that `createAgent` must provide. */
export function actionNotProvided(name: string, _params?: unknown): never {
  throw new Error(`action "${name}" was not provided`);
}

export const tickServices = {
  acquireLock: declareService('acquireLock'),
  loadState: declareService<AvailableCredentials>('loadState'),
  bootstrap: declareService<{ exchanged: boolean }, Pick<RunOptions, 'intent'>>('bootstrap'),
  observeHost: declareService<ObservedState>('observeHost'),
  checkIn: declareService<DesiredState, { observed: ObservedState }>('checkIn'),
  deliverReports: declareService('deliverReports'),
  heal: declareService<Outcome, { observed: ObservedState; desired: DesiredState }>('heal'),
  healDespite: declareService<Outcome, { observed: ObservedState; desired: DesiredState | null; outcome: Outcome }>(
    'healDespite',
  ),
  revertInterrupted: declareService<void, { desired: DesiredState | null }>('revertInterrupted'),
  recordOutcome: declareService<
    { offlineAlarm: boolean },
    Pick<RunOptions, 'intent'> & { outcome: Outcome; desired: DesiredState | null; observed: ObservedState | null }
  >('recordOutcome'),
  prune: declareService<void, { outcome: Outcome }>('prune'),
  renewToken: declareService<{ atRisk: boolean }, { outcome: Outcome }>('renewToken'),
  releaseLock: declareService('releaseLock'),
};

/** Result of a revert, merged into the outcome of the apply. */
export interface RevertResult {
  /** True when the containers run the image ids that ran before the attempt. */
  reverted: boolean;
  lines: string[];
  /** The last output of what failed, the revert included. */
  tail: string | null;
}

/** An apply that failed after the promotion. */
export interface FailedAttempt {
  bundle: Bundle;
  desired: DesiredState;
  outcome: Outcome;
}

export const applyServices = {
  download: declareService<void, { desired: DesiredState }>('download'),
  verifySignatures: declareService<void, { desired: DesiredState }>('verifySignatures'),
  unpack: declareService<Bundle, { desired: DesiredState }>('unpack'),
  validateBundle: declareService<void, { bundle: Bundle; desired: DesiredState }>('validateBundle'),
  readSecrets: declareService<void, { bundle: Bundle }>('readSecrets'),
  validateRenderedModel: declareService<void, { bundle: Bundle }>('validateRenderedModel'),
  verifyImages: declareService<void, { bundle: Bundle }>('verifyImages'),
  renderRelease: declareService<void, { bundle: Bundle }>('renderRelease'),
  promote: declareService<void, { bundle: Bundle }>('promote'),
  pull: declareService<void, { bundle: Bundle }>('pull'),
  startContainers: declareService<void, { bundle: Bundle; desired: DesiredState }>('startContainers'),
  awaitHealth: declareService<void, { bundle: Bundle }>('awaitHealth'),
  commit: declareService<void, { bundle: Bundle; desired: DesiredState }>('commit'),
  restoreCurrent: declareService<RevertResult, FailedAttempt>('restoreCurrent'),
  revertRelease: declareService<RevertResult, FailedAttempt>('revertRelease'),
};

export const downServices = {
  composeDown: declareService<void, { desired: DesiredState }>('composeDown'),
  clearApplied: declareService('clearApplied'),
};

export type TickServices = typeof tickServices;
export type ApplyServices = typeof applyServices;
export type DownServices = typeof downServices;
