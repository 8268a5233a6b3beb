import { endingNames, endings } from './endings.ts';
import { fails, parts } from './tickParts.ts';

const exchanged =
  'token ABSENT | `deployd bootstrap` or next tick | bootstrap grant file present and accepted by the secretstore login';

const failureRows = [
  ['unauthenticated', 'any | check-in | tenancy service refuses the bearer'],
  ['envMismatch', 'any | check-in | token belongs to another env than `config.yaml`'],
  ['offline', 'any | tick | tenancy service or mesh unreachable, `laptop_mode` false'],
  ['offlineLaptop', 'any | tick | same, `laptop_mode` true'],
  ['refused', 'any | check-in returns `apply` | a refusal check fails'],
] as const;

/** One tick (spec §1): facts in, one decision at a time, and a closing part that every path goes through. */
export const tick = parts.createMachine({
  id: 'tick',
  context: ({ input }) => ({ start: input, credentials: null, host: null, orders: null, outcome: null }),
  output: ({ context }) => context.outcome!,
  initial: 'takingLock',
  on: { STOP: { actions: 'abortWork' } },
  states: {
    takingLock: {
      description: 'Takes the exclusive lock of the state directory.',
      invoke: {
        id: 'takeLock',
        src: 'takeLock',
        onDone: 'recalling',
        onError: { target: 'settled', actions: [{ type: 'keepFault', params: ({ event }) => event }, 'tell'] },
      },
    },
    recalling: {
      description: 'Reads state.json, sweeps what a dead tick left, looks which credentials lie on the disk.',
      invoke: {
        id: 'recall',
        src: 'recall',
        onDone: { target: 'token', actions: { type: 'keepCredentials', params: ({ event }) => event } },
        onError: fails,
      },
    },
    token: {
      description: 'A grant file always wins; without one the stored token is used.',
      always: [
        { guard: 'wantsGrantOnly', target: 'bootstrapping' },
        { guard: 'grantPresent', target: 'bootstrapping' },
        { guard: 'tokenPresent', target: 'probingHost' },
        { target: 'failing', actions: 'endAbsent', description: 'token ABSENT | tick | no grant file' },
      ],
    },
    bootstrapping: {
      description: 'Exchanges the bootstrap grant for the token, stores it, proves it, then removes the grant.',
      invoke: {
        id: 'bootstrap',
        src: 'bootstrap',
        input: ({ context }) => ({ intent: context.start.intent }),
        onDone: [
          { guard: 'wantsGrantOnly', target: 'concluding', actions: 'endBootstrapped', description: exchanged },
          { guard: { type: 'exchanged', params: ({ event }) => event }, target: 'probingHost', description: exchanged },
          { target: 'probingHost', description: 'token present | tick | grant refused, the stored token works' },
        ],
        onError: fails,
      },
    },
    probingHost: {
      description: 'Asks the container engine what runs and whether it is well.',
      invoke: {
        id: 'probeHost',
        src: 'probeHost',
        onDone: { target: 'checkingIn', actions: { type: 'keepHost', params: ({ event }) => event } },
        onError: fails,
      },
    },
    checkingIn: {
      description: 'Tells the tenancy service what is applied and how it is, and receives the orders.',
      invoke: {
        id: 'checkIn',
        src: 'checkIn',
        input: ({ context }) => ({ host: context.host! }),
        onDone: { target: 'deliveringReports', actions: { type: 'keepOrders', params: ({ event }) => event } },
        onError: fails,
      },
    },
    deliveringReports: {
      description: 'Delivers reports of earlier ticks that did not get through, oldest first.',
      invoke: { id: 'deliverReports', src: 'deliverReports', onDone: 'deciding', onError: 'deciding' },
    },
    deciding: {
      description: 'Chooses what this tick does.',
      always: [
        {
          guard: 'noneOnHealthyHost',
          target: 'concluding',
          actions: { type: 'endAs', params: 'converged' },
          description: 'converged | check-in returns `none` | host healthy',
        },
        { guard: 'ailing', target: 'healing', description: 'any | check-in returns `none` | host not healthy' },
        { guard: 'pausing', target: 'concluding', actions: 'endPaused', description: 'the bundle failed; not due yet' },
        { guard: 'wantsApply', target: 'applying', description: 'check-in returns `apply`' },
        { guard: 'wantsDown', target: 'takingDown', description: 'any | check-in returns `down` | -' },
      ],
    },
    healing: {
      description: 'Brings the applied release up again, once.',
      invoke: {
        id: 'heal',
        src: 'heal',
        input: ({ context }) => ({ host: context.host!, orders: context.orders! }),
        onDone: { target: 'concluding', actions: { type: 'keepOutcome', params: ({ event }) => event } },
        onError: fails,
      },
    },
    applying: {
      description: 'Puts the desired bundle in force (machine `apply`).',
      invoke: {
        id: 'apply',
        src: 'apply',
        input: ({ context }) => ({ orders: context.orders! }),
        onDone: { target: 'concluding', actions: { type: 'keepOutcome', params: ({ event }) => event } },
        onError: fails,
      },
    },
    takingDown: {
      description: 'Takes the project down (machine `down`).',
      invoke: {
        id: 'down',
        src: 'down',
        input: ({ context }) => ({ orders: context.orders! }),
        onDone: { target: 'concluding', actions: { type: 'endAs', params: 'down' } },
        onError: fails,
      },
    },
    failing: {
      description: 'A step gave up: which row of the transition table is it?',
      always: [
        {
          guard: 'leavesHalfMade',
          target: 'mending',
          description: 'an earlier apply was cut short, and none could begin now',
        },
        ...failureRows.map(([ending, description]) => ({
          guard: { type: 'endsAs' as const, params: ending },
          target: 'concluding' as const,
          description,
        })),
        { target: 'concluding', description: 'any | tick | anything else fails' },
      ],
    },
    mending: {
      description: 'Undoes the attempt that was cut short: the applied release comes back.',
      invoke: {
        id: 'mend',
        src: 'mend',
        onDone: 'concluding',
        onError: { target: 'concluding', actions: { type: 'tell', params: ({ event }) => event } },
      },
    },
    concluding: {
      description: 'Writes the outcome to journal and state.json, its report beside it; leaves the disk tidy.',
      entry: 'tell',
      invoke: {
        id: 'conclude',
        src: 'conclude',
        input: ({ context: { outcome, orders, host } }) => ({ outcome: outcome!, orders, host }),
        onDone: [{ guard: 'mayReport', target: 'reporting' }, { target: 'tidying' }],
        onError: { target: 'tidying', actions: { type: 'tell', params: ({ event }) => event } },
      },
    },
    reporting: {
      description: 'Reports the outcome to the tenancy service; reporting never changes it.',
      invoke: { id: 'deliverReports', src: 'deliverReports', onDone: 'tidying', onError: 'tidying' },
    },
    tidying: { always: [{ guard: 'mustPrune', target: 'pruning' }, { target: 'keepingToken' }] },
    pruning: {
      description: 'With `--prune`: removes all releases but the one in force and, after an apply, unused images.',
      invoke: {
        id: 'prune',
        src: 'prune',
        input: ({ context }) => ({ outcome: context.outcome! }),
        onDone: 'keepingToken',
        onError: { target: 'keepingToken', actions: { type: 'tell', params: ({ event }) => event } },
      },
    },
    keepingToken: {
      description: 'Renews the token, or leases anew before its maximum; hands short-lived ones back.',
      invoke: {
        id: 'keepToken',
        src: 'keepToken',
        input: ({ context }) => ({ outcome: context.outcome! }),
        onDone: [
          { guard: { type: 'tokenAtRisk', params: ({ event }) => event }, target: 'closing', actions: 'endAtRisk' },
          { target: 'closing' },
        ],
        onError: { target: 'closing', actions: { type: 'tell', params: ({ event }) => event } },
      },
    },
    closing: {
      description: 'Forgets every secret and frees the lock; no path with a lock goes around it.',
      entry: 'scrub',
      invoke: { id: 'freeLock', src: 'freeLock', onDone: 'settled', onError: 'settled' },
    },
    settled: {
      always: endingNames.map((ending) => ({ guard: { type: 'endsAs' as const, params: ending }, target: ending })),
    },
    ...endings,
  },
});
