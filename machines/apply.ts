import { assign, setup } from 'xstate';
import { isInterruption, outcomeOf, plainOutcome } from './outcomes.ts';
import { applyServices, type RevertResult } from './services.ts';
import type { Bundle, DesiredState, Outcome } from './types.ts';

interface ApplyContext {
  desired: DesiredState;
  bundle: Bundle | null;
  outcome: Outcome;
}

const applySetup = setup({
  types: {
    input: {} as { desired: DesiredState },
    context: {} as ApplyContext,
    output: {} as Outcome,
  },
  actors: applyServices,
  actions: {
    setBundle: assign({ bundle: (_, p: { output: Bundle }) => p.output }),
    setFault: assign({ outcome: (_, p: { error: unknown }) => outcomeOf(p.error, false) }),
    setRevertResult: assign({
      outcome: ({ context }, p: { output: RevertResult }) => ({
        ...context.outcome,
        ...p.output,
      }),
    }),
  },
  guards: { wasInterrupted: (_, p: { error: unknown }) => isInterruption(p.error) },
});

const errorOf = ({ event }: { event: { error: unknown } }) => event;
const setFault = { type: 'setFault', params: errorOf } as const;
const endInterrupted = {
  guard: { type: 'wasInterrupted', params: errorOf },
  target: 'done',
  actions: setFault,
} as const;

const failedAttempt = ({ context }: { context: ApplyContext }) => ({ ...context, bundle: context.bundle! });

/**
 * Applies one bundle, in the specification's order (spec §1). A fault before the promotion ends the machine: nothing has
 * changed on the host. A fault after it starts a revert, unless the tick was interrupted: then the attempt stays recorded
 * and the next tick continues with it.
 */
export const apply = applySetup.createMachine({
  id: 'apply',
  context: ({ input }) => ({ desired: input.desired, bundle: null, outcome: plainOutcome('applied') }),
  output: ({ context }) => context.outcome,
  initial: 'downloading',
  states: {
    downloading: {
      description: 'Streams the bundle to disk and computes its sha256 on the way.',
      invoke: {
        id: 'download',
        src: 'download',
        input: ({ context }) => ({ desired: context.desired }),
        onDone: 'verifyingSignatures',
      },
    },
    verifyingSignatures: {
      description: 'Verifies who signed the bundle, where the host trusts signatures (trust.bundles).',
      invoke: {
        id: 'verifySignatures',
        src: 'verifySignatures',
        input: ({ context }) => ({ desired: context.desired }),
        onDone: 'unpacking',
      },
    },
    unpacking: {
      description: 'Unpacks the bundle into staging, plain files and directories only, and reads the manifest.',
      invoke: {
        id: 'unpack',
        src: 'unpack',
        input: ({ context }) => ({ desired: context.desired }),
        onDone: { target: 'validatingBundle', actions: { type: 'setBundle', params: ({ event }) => event } },
      },
    },
    validatingBundle: {
      description: 'Runs every refusal check that needs no secrets; all refusals are reported together.',
      invoke: {
        id: 'validateBundle',
        src: 'validateBundle',
        input: ({ context }) => ({ bundle: context.bundle!, desired: context.desired }),
        onDone: 'readingSecrets',
      },
    },
    readingSecrets: {
      description: 'Obtains a lease, logs in with its JWT and reads the secrets that the manifest names.',
      invoke: {
        id: 'readSecrets',
        src: 'readSecrets',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'validatingRenderedModel',
      },
    },
    validatingRenderedModel: {
      description: 'Renders the compose model with the secret values and validates it against the policy.',
      invoke: {
        id: 'validateRenderedModel',
        src: 'validateRenderedModel',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'verifyingImages',
      },
    },
    verifyingImages: {
      description:
        'Resolves the images to digests and verifies who signed them, where the host trusts signatures (trust.images).',
      invoke: {
        id: 'verifyImages',
        src: 'verifyImages',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'renderingRelease',
      },
    },
    renderingRelease: {
      description: 'Writes the release: files, `.env` (0600) and the override with the content labels.',
      invoke: {
        id: 'renderRelease',
        src: 'renderRelease',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'promoting',
      },
    },
    promoting: {
      description: 'Records the attempt in state.json, then points `current` at the release.',
      invoke: {
        id: 'promote',
        src: 'promote',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'pulling',
        onError: [endInterrupted, { target: 'restoringCurrent', actions: setFault }],
      },
    },
    pulling: {
      description: 'Runs compose pull; no container is changed before every image is on the host.',
      invoke: {
        id: 'pull',
        src: 'pull',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'startingContainers',
        onError: [
          endInterrupted,
          {
            target: 'restoringCurrent',
            actions: setFault,
            description: 'any | check-in returns `apply` | compose pull or up fails',
          },
        ],
      },
    },
    startingContainers: {
      description: 'Creates the containers from local images, compares them with the validated model and starts them.',
      invoke: {
        id: 'startContainers',
        src: 'startContainers',
        input: ({ context }) => ({ bundle: context.bundle!, desired: context.desired }),
        onDone: 'awaitingHealth',
        onError: [
          endInterrupted,
          {
            target: 'revertingRelease',
            actions: setFault,
            description: 'any | check-in returns `apply` | compose pull or up fails',
          },
        ],
      },
    },
    awaitingHealth: {
      description: 'Waits until every container is healthy, or has run for settle_s where it has no healthcheck.',
      invoke: {
        id: 'awaitHealth',
        src: 'awaitHealth',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'committing',
        onError: [
          endInterrupted,
          {
            target: 'revertingRelease',
            actions: setFault,
            description: 'any | check-in returns `apply` | containers not healthy',
          },
        ],
      },
    },
    committing: {
      description: 'Records the release as applied and queues its report, in one durable write.',
      invoke: {
        id: 'commit',
        src: 'commit',
        input: ({ context }) => ({ bundle: context.bundle!, desired: context.desired }),
        onDone: {
          target: 'done',
          description:
            'any | check-in returns `apply` | all refusal checks pass, secrets read, pull and up succeed, containers healthy',
        },
        onError: { target: 'done', actions: setFault },
      },
    },
    restoringCurrent: {
      description: 'Points `current` back to the applied release; no container was changed.',
      invoke: {
        id: 'restoreCurrent',
        src: 'restoreCurrent',
        input: failedAttempt,
        onDone: { target: 'done', actions: { type: 'setRevertResult', params: ({ event }) => event } },
        onError: 'done',
      },
    },
    revertingRelease: {
      description: 'Starts the previous release again, from local images and its own `.env`.',
      invoke: {
        id: 'revertRelease',
        src: 'revertRelease',
        input: failedAttempt,
        onDone: { target: 'done', actions: { type: 'setRevertResult', params: ({ event }) => event } },
        onError: 'done',
      },
    },
    done: { type: 'final', description: 'Returns the outcome to the tick.' },
  },
});
