import { assign, setup } from 'xstate';
import { apply } from './apply.ts';
import { down } from './down.ts';
import { endingNames, endings, type Ending } from './endings.ts';
import { outcomeOf, plain, tokenAbsent } from './outcomes.ts';
import { tickServices, unprovided } from './services.ts';
import type { Credentials, Host, Orders, Outcome, Start } from './words.ts';

interface TickContext {
  start: Start;
  credentials: Credentials | null;
  host: Host | null;
  orders: Orders | null;
  outcome: Outcome | null;
}

const parts = setup({
  types: {
    input: {} as Start,
    context: {} as TickContext,
    events: {} as { type: 'STOP' },
    output: {} as Outcome,
    meta: {} as { exit: number; report: string | null },
  },
  actors: { ...tickServices, apply, down },
  actions: {
    keepCredentials: assign({ credentials: (_, p: { output: Credentials }) => p.output }),
    keepHost: assign({ host: (_, p: { output: Host }) => p.output }),
    keepOrders: assign({ orders: (_, p: { output: Orders }) => p.output }),
    keepOutcome: assign({ outcome: (_, p: { output: Outcome }) => p.output }),
    keepFault: assign({
      outcome: ({ context }, p: { error: unknown }) => outcomeOf(p.error, context.start.laptopMode),
    }),
    endAs: assign({ outcome: (_, ending: Ending) => plain(ending) }),
    endBootstrapped: assign({ outcome: plain('bootstrapped') }),
    endAbsent: assign({ outcome: ({ context }) => tokenAbsent(context.credentials!.grantFile) }),
    endPaused: assign({ outcome: ({ context }) => ({ ...plain('paused'), lines: [context.orders!.pause!.line] }) }),
    endAtRisk: assign({ outcome: ({ context }) => ({ ...context.outcome!, ending: 'tokenAtRisk' }) }),
    tell: (_, p: { error: unknown } | undefined) => unprovided('tell', p),
    scrub: () => unprovided('scrub'),
    abortWork: () => unprovided('abortWork'),
  },
  guards: {
    wantsGrantOnly: ({ context }) => context.start.intent === 'bootstrap',
    grantPresent: ({ context }) => context.credentials?.grant === true,
    tokenPresent: ({ context }) => context.credentials?.token === true,
    noneOnHealthyHost: ({ context }) => context.orders?.action === 'none' && context.host?.healthy === true,
    ailing: ({ context }) => context.host?.healthy === false && mayHeal(context.orders),
    pausing: ({ context }) => context.orders?.action === 'apply' && context.orders.pause !== null,
    wantsApply: ({ context }) => context.orders?.action === 'apply',
    wantsDown: ({ context }) => context.orders?.action === 'down',
    endsAs: ({ context }, ending: Ending) => context.outcome?.ending === ending,
    mayReport: ({ context }) => context.orders !== null && endOf(context).report !== null,
    mustPrune: ({ context }) => context.start.prune && endOf(context).exit === 0,
    tokenAtRisk: ({ context }, p: { output: { atRisk: boolean } }) => p.output.atRisk && endOf(context).exit === 0,
  },
});

const fails = {
  target: 'failing',
  actions: { type: 'keepFault', params: ({ event }: { event: { error: unknown } }) => event },
} as const;

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
        onDone: [
          { guard: 'wantsGrantOnly', target: 'concluding', actions: 'endBootstrapped', description: exchanged },
          { target: 'probingHost', description: exchanged },
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
        ...failureRows.map(([ending, description]) => ({
          guard: { type: 'endsAs' as const, params: ending },
          target: 'concluding' as const,
          description,
        })),
        { target: 'concluding', description: 'any | tick | anything else fails' },
      ],
    },
    concluding: {
      description: 'Writes the outcome to the journal and to state.json, its report beside it.',
      entry: 'tell',
      invoke: {
        id: 'conclude',
        src: 'conclude',
        input: ({ context }) => ({ outcome: context.outcome!, orders: context.orders }),
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

function endOf(context: TickContext) {
  return endings[context.outcome!.ending].meta;
}

/** A failed bundle that waits for its next try leaves time to mend the release before it. */
function mayHeal(orders: Orders | null): boolean {
  return orders?.action === 'none' || (orders?.action === 'apply' && orders.pause !== null);
}
