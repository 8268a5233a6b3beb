import { assign, type InputFrom, type OutputFrom, setup } from 'xstate';
import { isInterruption, outcomeOf, plainOutcome, stepError } from './fault.ts';
import {
  type ApplyServices,
  applyServices,
  type ApplyStart,
  type FailedAttempt,
  type RevertResult,
} from './services.ts';
import type { Outcome } from './types.ts';

/** The input of the machine. */
export interface ApplyInput extends ApplyStart {
  /** True once the engine has answered in this tick; after that, an unreachable engine interrupts it. */
  engineAnswered: boolean;
}

interface ApplyContext {
  /** The outputs of the states that have already run. */
  cargo: object;
  engineAnswered: boolean;
  outcome: Outcome;
}

const applySetup = setup({
  types: { input: {} as ApplyInput, context: {} as ApplyContext, output: {} as Outcome },
  actors: { ...applyServices },
  actions: {
    addToCargo: assign({ cargo: ({ context }, p: { output: unknown }) => ({ ...context.cargo, ...(p.output ?? {}) }) }),
    setFault: assign({
      outcome: ({ context }, p: { error: unknown }) => outcomeOf(stepError(p.error, context.engineAnswered), false),
    }),
    setRevertResult: assign({
      outcome: ({ context }, p: { output: RevertResult }) => ({ ...context.outcome, ...p.output }),
    }),
  },
  guards: {
    wasInterrupted: ({ context }, p: { error: unknown }) => isInterruption(stepError(p.error, context.engineAnswered)),
  },
});

type StateConfig = Parameters<typeof applySetup.createStateConfig>[0];

const addToCargo = { type: 'addToCargo', params: ({ event }: { event: { output: unknown } }) => event } as const;
const errorOf = ({ event }: { event: { error: unknown } }) => event;
const setFault = { type: 'setFault', params: errorOf } as const;
const endInterrupted = {
  guard: { type: 'wasInterrupted', params: errorOf },
  target: 'done',
  actions: setFault,
} as const;

/** Does not compile if the service needs an output that no earlier state produces; the error names that output. */
type Ready<TCargo, TTakes> = TCargo extends TTakes ? unknown : { notMadeYet: Exclude<keyof TTakes, keyof TCargo> };

/**
 * Consecutive states. The input of each service is the cargo: the outputs of all states before it. Its own output is
 * added to the cargo. `TBefore` is the type of the cargo in the last state, `TCargo` its type after that state.
 */
interface Line<TBefore, TCargo> {
  state<TService extends keyof ApplyServices>(
    name: string,
    service: TService & Ready<TCargo, InputFrom<ApplyServices[TService]>>,
    description: string,
  ): Line<TCargo, TCargo & OutputFrom<ApplyServices[TService]>>;
  /** Target of a fault in the last state, unless the tick was interrupted; without it, a fault ends the machine. */
  onFault(
    target: TBefore extends Omit<FailedAttempt, 'outcome'> ? string : never,
    description?: string,
  ): Line<TBefore, TCargo>;
  /** The states; the last one leads to `next`. */
  to(next: string, description: string): Record<string, StateConfig>;
}

interface LineState {
  name: string;
  service: keyof ApplyServices;
  description: string;
  fault: { target: string; description?: string } | null;
}

function lineOf<TBefore, TCargo>(states: readonly LineState[]): Line<TBefore, TCargo> {
  return {
    state: (name, service, description) => lineOf([...states, { name, service, description, fault: null }]),
    onFault: (target, description) => {
      const fault = { target, ...(description !== undefined && { description }) };
      return lineOf([...states.slice(0, -1), ...states.slice(-1).map((last) => ({ ...last, fault }))]);
    },
    to: (next, description) =>
      Object.fromEntries(
        states.map((state, index) => {
          const following = states[index + 1];
          const onDone = following ? { target: following.name } : { target: next, description };
          return [state.name, configOf(state, onDone)];
        }),
      ),
  };
}

function configOf({ service, description, fault }: LineState, onDone: { target: string }): StateConfig {
  const input = ({ context }: { context: ApplyContext }) => context.cargo;
  const onFault = fault && { ...fault, actions: setFault };
  const onError = onFault && { onError: onFault.target === 'done' ? onFault : [endInterrupted, onFault] };
  const invoke = { id: service, src: service, input, onDone: { ...onDone, actions: addToCargo }, ...onError };
  return { description, invoke } as StateConfig;
}

/** The first link of the chain, without states; the first state gets the input of the machine. */
export const applyLine = (): Line<ApplyStart, ApplyStart> => lineOf([]);

const composeFails = 'any | check-in returns `apply` | compose pull or up fails';

const steps = applyLine()
  .state('downloading', 'download', 'Streams the bundle to disk and computes its sha256 on the way.')
  .state(
    'verifyingSignatures',
    'verifySignatures',
    'Verifies who signed the bundle, where the host trusts signatures (trust.bundles).',
  )
  .state(
    'unpacking',
    'unpack',
    'Unpacks the bundle into staging, plain files and directories only, and reads the manifest.',
  )
  .state(
    'validatingBundle',
    'validateBundle',
    'Runs every refusal check that needs no secrets; all refusals are reported together.',
  )
  .state(
    'readingSecrets',
    'readSecrets',
    'Obtains a lease, logs in with its JWT and reads the secrets that the manifest names.',
  )
  .state(
    'validatingRenderedModel',
    'validateRenderedModel',
    'Renders the compose model with the secret values and validates it against the policy.',
  )
  .state(
    'verifyingImages',
    'verifyImages',
    'Resolves the images to digests and verifies who signed them, where the host trusts signatures (trust.images).',
  )
  .state(
    'renderingRelease',
    'renderRelease',
    'Writes the release: files, `.env` (0600) and the override with the content labels.',
  )
  .state('promoting', 'promote', 'Records the attempt in state.json, then points `current` at the release.')
  .onFault('restoringCurrent')
  .state('pulling', 'pull', 'Runs compose pull; no container is changed before every image is on the host.')
  .onFault('restoringCurrent', composeFails)
  .state(
    'startingContainers',
    'startContainers',
    'Creates the containers from local images, compares them with the validated model and starts them.',
  )
  .onFault('revertingRelease', composeFails)
  .state(
    'awaitingHealth',
    'awaitHealth',
    'Waits until every container is healthy, or has run for settle_s where it has no healthcheck.',
  )
  .onFault('revertingRelease', 'any | check-in returns `apply` | containers not healthy')
  .state('committing', 'commit', 'Records the release as applied and queues its report, in one durable write.')
  .onFault('done')
  .to(
    'done',
    'any | check-in returns `apply` | all refusal checks pass, secrets read, pull and up succeed, containers healthy',
  );

const failedAttempt = ({ context }: { context: ApplyContext }) => {
  return { ...context.cargo, outcome: context.outcome } as FailedAttempt; // `onFault` proves that the cargo has the rest
};
const setRevertResult = {
  type: 'setRevertResult',
  params: ({ event }: { event: { output: RevertResult } }) => event,
} as const;

/**
 * Applies one bundle, in the specification's order (spec §1). A fault before the promotion ends the machine: nothing has
 * changed on the host. A fault after it starts a revert, unless the tick was interrupted: then the attempt stays recorded
 * and the next tick continues with it.
 */
export const apply = applySetup.createMachine({
  id: 'apply',
  context: ({ input: { engineAnswered, ...cargo } }) => ({ cargo, engineAnswered, outcome: plainOutcome('applied') }),
  output: ({ context }) => context.outcome,
  initial: 'downloading',
  states: {
    ...steps,
    restoringCurrent: {
      description: 'Points `current` back to the applied release; no container was changed.',
      invoke: {
        id: 'restoreCurrent',
        src: 'restoreCurrent',
        input: failedAttempt,
        onDone: { target: 'done', actions: setRevertResult },
        onError: 'done',
      },
    },
    revertingRelease: {
      description: 'Starts the previous release again, from local images and its own `.env`.',
      invoke: {
        id: 'revertRelease',
        src: 'revertRelease',
        input: failedAttempt,
        onDone: { target: 'done', actions: setRevertResult },
        onError: 'done',
      },
    },
    done: { type: 'final', description: 'Returns the outcome to the tick.' },
  },
});
