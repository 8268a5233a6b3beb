import { assign, setup } from 'xstate';
import { apply } from './apply.ts';
import { down } from './down.ts';
import { type Ending, endings } from './endings.ts';
import {
  deferredOutcome,
  outcomeOf,
  pausedOutcome,
  plainOutcome,
  stepError,
  tokenAbsentOutcome,
  wasInterrupted,
} from './fault.ts';
import { actionNotProvided, tickServices } from './services.ts';
import type {
  DesiredState,
  FaultFacts,
  FoundOnDisk,
  ObservedState,
  Outcome,
  RecordedTick,
  RunOptions,
  TickResult,
} from './types.ts';

interface TickContext {
  options: RunOptions;
  found: FoundOnDisk | null;
  grantRefusal: FaultFacts | null;
  observed: ObservedState | null;
  desired: DesiredState | null;
  outcome: Outcome | null;
  recorded: RecordedTick | null;
}

/** Types, services, actions and guards of the machine `tick`. */
export const tickSetup = setup({
  types: {
    input: {} as RunOptions,
    context: {} as TickContext,
    events: {} as { type: 'STOP' },
    output: {} as TickResult,
    meta: {} as { exit: number; report: string | null },
  },
  actors: { ...tickServices, apply, down },
  actions: {
    setFound: assign({ found: (_, p: { output: FoundOnDisk }) => p.output }),
    setGrantRefusal: assign({ grantRefusal: (_, p: { output: { refusal: FaultFacts | null } }) => p.output.refusal }),
    setObserved: assign({ observed: (_, p: { output: ObservedState }) => p.output }),
    setDesired: assign({ desired: (_, p: { output: DesiredState }) => p.output }),
    setOutcome: assign({ outcome: (_, p: { output: Outcome }) => p.output }),
    setFault: assign({
      outcome: ({ context }, p: { error: unknown }) => {
        const { laptopMode, intent } = context.options;
        return outcomeOf(stepError(p.error, engineAnswered(context)), laptopMode && intent === 'tick');
      },
    }),
    setRecorded: assign({ recorded: (_, p: { output: RecordedTick }) => p.output }),
    endAs: assign({ outcome: (_, ending: Ending) => plainOutcome(ending) }),
    endAsBootstrapped: assign({ outcome: plainOutcome('bootstrapped') }),
    endAsTokenAbsent: assign({ outcome: ({ context }) => tokenAbsentOutcome(context.found!.grantFile) }),
    endAsDeferred: assign({ outcome: ({ context }) => deferredOutcome(context.desired!.deferral!) }),
    endAsPaused: assign({ outcome: ({ context }) => pausedOutcome(context.desired!.retryDelay!) }),
    endAsOfflineAlarm: assign({ outcome: ({ context }) => ({ ...context.outcome!, ending: 'offlineAlarm' }) }),
    endAsTokenAtRisk: assign({ outcome: ({ context }) => ({ ...context.outcome!, ending: 'tokenAtRisk' }) }),
    logOutcome: (_, p: { error: unknown } | undefined) => actionNotProvided('logOutcome', p),
    clearSecrets: () => actionNotProvided('clearSecrets'),
    abortWork: () => actionNotProvided('abortWork'),
  },
  guards: {
    wantsBootstrapOnly: ({ context }) => context.options.intent === 'bootstrap',
    hasGrant: ({ context }) => context.found?.hasGrant === true,
    wasExchanged: (_, p: { output: { exchanged: boolean } }) => p.output.exchanged,
    hasToken: ({ context }) => context.found?.hasToken === true,
    isConverged: ({ context }) => context.desired?.action === 'none' && context.observed?.healthy === true,
    needsHealing: ({ context }) => context.observed?.healthy === false && mayHeal(context.desired),
    isDeferred: ({ context }) => context.desired!.deferral !== null,
    retryNotDue: ({ context }) => awaitsRetry(context.desired),
    wantsApply: ({ context }) => context.desired?.action === 'apply',
    wantsDown: ({ context }) => context.desired?.action === 'down',
    hasInterruptedAttempt: ({ context: { observed, desired, outcome } }) =>
      observed?.attemptInProgress === true && desired?.action !== 'down' && !wasInterrupted(outcome!),
    mayHealDespite: ({ context }) => mayHealDespite(context),
    endsAs: ({ context }, ending: Ending) => context.outcome?.ending === ending,
    mayReport: ({ context }) => context.desired !== null && endingMetaOf(context).report !== null,
    alarms: (_, p: { output: { offlineAlarm: boolean } }) => p.output.offlineAlarm,
    wantsPrune: ({ context }) => context.options.prune && endingMetaOf(context).exit === 0,
    tokenAtRisk: ({ context }, p: { output: { atRisk: boolean } }) =>
      p.output.atRisk && endingMetaOf(context).exit === 0,
  },
});

/** The `onError` of most states: stores the fault as the outcome and classifies it. */
export const classifyFault = {
  target: 'classifyingFault',
  actions: { type: 'setFault', params: ({ event }: { event: { error: unknown } }) => event },
} as const;

/** True once the engine has answered in this tick. */
export function engineAnswered({ observed }: Pick<TickContext, 'observed'>): boolean {
  return observed?.engineAvailable === true;
}

/** The result of a tick that has ended. */
export function tickResult({ found, observed, desired, outcome, recorded }: TickContext): TickResult {
  const seen = observed?.engineAvailable ? observed.containers : null;
  return {
    ...outcome!,
    hold: found?.hold,
    containers: recorded?.containers ?? seen,
    wasOverdue: desired?.wasOverdue === true,
  };
}

function endingMetaOf(context: TickContext) {
  return endings[context.outcome!.ending].meta;
}

/**
 * True when the tick ends without changing containers on an unhealthy host: the check-in failed, the bundle was
 * refused, or images could not be pulled. The applied release is then still healed (spec §7.6).
 */
function mayHealDespite({ observed, desired, outcome }: TickContext): boolean {
  const isUnhealthy = observed?.healthy === false && observed.engineAvailable && observed.leader === null;
  if (!isUnhealthy || outcome === null || wasInterrupted(outcome) || outcome.ending === 'envMismatch') return false;
  if (desired === null) return true;
  const wasTried = desired.action === 'apply' && desired.deferral === null && desired.retryDelay === null;
  return wasTried && outcome.ending !== 'applied' && !outcome.reverted;
}

/**
 * While a bundle waits for its retry or a maintenance window, the applied release is healed as usual; a hold also
 * defers healing.
 */
function mayHeal(desired: DesiredState | null): boolean {
  if (desired?.deferral) return desired.deferral.mayHeal;
  return desired?.action === 'none' || awaitsRetry(desired);
}

function awaitsRetry(desired: DesiredState | null): boolean {
  return desired?.action === 'apply' && desired.retryDelay !== null;
}
