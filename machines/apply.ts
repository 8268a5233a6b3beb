import { assign, setup } from 'xstate';
import { isCutShort, outcomeOf, plain } from './outcomes.ts';
import { applyServices } from './services.ts';
import type { Bundle, Orders, Outcome } from './words.ts';

interface ApplyContext {
  orders: Orders;
  bundle: Bundle | null;
  outcome: Outcome;
}

const parts = setup({
  types: {
    input: {} as { orders: Orders },
    context: {} as ApplyContext,
    output: {} as Outcome,
  },
  actors: applyServices,
  actions: {
    keepBundle: assign({ bundle: (_, p: { output: Bundle }) => p.output }),
    keepFault: assign({ outcome: (_, p: { error: unknown }) => outcomeOf(p.error, false) }),
    keepReverted: assign({
      outcome: ({ context }, p: { output: { reverted: boolean; lines: string[] } }) => ({
        ...context.outcome,
        ...p.output,
      }),
    }),
  },
  guards: { cutShort: (_, p: { error: unknown }) => isCutShort(p.error) },
});

const theError = ({ event }: { event: { error: unknown } }) => event;
const keepFault = { type: 'keepFault', params: theError } as const;
const cutShort = { guard: { type: 'cutShort', params: theError }, target: 'ended', actions: keepFault } as const;

/**
 * Puts one bundle in force, in the specification's order (spec §1). Up to the promotion a fault simply ends the machine:
 * nothing was touched. From the promotion on there is a way back, unless the tick was cut short: then the attempt
 * stands, and the next tick goes on with it.
 */
export const apply = parts.createMachine({
  id: 'apply',
  context: ({ input }) => ({ orders: input.orders, bundle: null, outcome: plain('applied') }),
  output: ({ context }) => context.outcome,
  initial: 'downloading',
  states: {
    downloading: {
      description: 'Streams the bundle to disk, its sha256 computed on the way.',
      invoke: {
        id: 'download',
        src: 'download',
        input: ({ context }) => ({ orders: context.orders }),
        onDone: 'unpacking',
      },
    },
    unpacking: {
      description: 'Unpacks it beside the releases, plain files and directories only, and reads the manifest.',
      invoke: {
        id: 'unpack',
        src: 'unpack',
        input: ({ context }) => ({ orders: context.orders }),
        onDone: { target: 'checking', actions: { type: 'keepBundle', params: ({ event }) => event } },
      },
    },
    checking: {
      description: 'Judges everything that must not run; every refusal is told at once.',
      invoke: {
        id: 'check',
        src: 'check',
        input: ({ context }) => ({ bundle: context.bundle!, orders: context.orders }),
        onDone: 'readingSecrets',
      },
    },
    readingSecrets: {
      description: 'Obtains a lease, logs in with its JWT, reads the secrets of the manifest.',
      invoke: {
        id: 'readSecrets',
        src: 'readSecrets',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'verifying',
      },
    },
    verifying: {
      description: 'compose renders the model with the values in it, and the policy judges that too.',
      invoke: {
        id: 'verify',
        src: 'verify',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'rendering',
      },
    },
    rendering: {
      description: 'Writes the release: files, `.env` (0600), labels of changed content.',
      invoke: {
        id: 'render',
        src: 'render',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'promoting',
      },
    },
    promoting: {
      description: 'Journals the attempt, then points `current` at the release.',
      invoke: {
        id: 'promote',
        src: 'promote',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'pulling',
        onError: [cutShort, { target: 'puttingBack', actions: keepFault }],
      },
    },
    pulling: {
      description: 'compose pull; no container is touched before every image is here.',
      invoke: {
        id: 'pull',
        src: 'pull',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'starting',
        onError: [
          cutShort,
          {
            target: 'puttingBack',
            actions: keepFault,
            description: 'any | check-in returns `apply` | compose pull or up fails',
          },
        ],
      },
    },
    starting: {
      description:
        'compose makes the containers from local images, they are held to the judged model, compose starts them.',
      invoke: {
        id: 'up',
        src: 'up',
        input: ({ context }) => ({ bundle: context.bundle!, orders: context.orders }),
        onDone: 'awaitingHealth',
        onError: [
          cutShort,
          {
            target: 'reverting',
            actions: keepFault,
            description: 'any | check-in returns `apply` | compose pull or up fails',
          },
        ],
      },
    },
    awaitingHealth: {
      description: 'Waits until the engine itself calls every container healthy, or settled.',
      invoke: {
        id: 'awaitHealth',
        src: 'awaitHealth',
        input: ({ context }) => ({ bundle: context.bundle! }),
        onDone: 'committing',
        onError: [
          cutShort,
          {
            target: 'reverting',
            actions: keepFault,
            description: 'any | check-in returns `apply` | containers not healthy',
          },
        ],
      },
    },
    committing: {
      description: 'Records applied_sha = desired sha, and in the same write the outcome that will be reported.',
      invoke: {
        id: 'commit',
        src: 'commit',
        input: ({ context }) => ({ bundle: context.bundle!, orders: context.orders }),
        onDone: {
          target: 'ended',
          description:
            'any | check-in returns `apply` | all refusal checks pass, secrets read, pull and up succeed, containers healthy',
        },
        onError: { target: 'ended', actions: keepFault },
      },
    },
    puttingBack: {
      description: 'Containers were never touched: only `current` goes back.',
      invoke: {
        id: 'putBack',
        src: 'putBack',
        input: ({ context }) => ({ ...context, bundle: context.bundle! }),
        onDone: { target: 'ended', actions: { type: 'keepReverted', params: ({ event }) => event } },
        onError: 'ended',
      },
    },
    reverting: {
      description: 'Puts the previous release in force again, from local images and its own `.env`.',
      invoke: {
        id: 'revert',
        src: 'revert',
        input: ({ context }) => ({ ...context, bundle: context.bundle! }),
        onDone: { target: 'ended', actions: { type: 'keepReverted', params: ({ event }) => event } },
        onError: 'ended',
      },
    },
    ended: { type: 'final', description: 'Hands the outcome to the tick.' },
  },
});
