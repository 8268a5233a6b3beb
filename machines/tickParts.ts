import { assign, setup } from 'xstate';
import { apply } from './apply.ts';
import { down } from './down.ts';
import { endings, type Ending } from './endings.ts';
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

/** What the tick's transitions are made of: its memory, its actions by name, its questions by name. */
export const parts = setup({
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
      outcome: ({ context: { start } }, p: { error: unknown }) =>
        outcomeOf(p.error, start.laptopMode && start.intent === 'tick'),
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
    exchanged: (_, p: { output: { exchanged: boolean } }) => p.output.exchanged,
    tokenPresent: ({ context }) => context.credentials?.token === true,
    noneOnHealthyHost: ({ context }) => context.orders?.action === 'none' && context.host?.healthy === true,
    ailing: ({ context }) => context.host?.healthy === false && mayHeal(context.orders),
    pausing: ({ context }) => context.orders?.action === 'apply' && context.orders.pause !== null,
    wantsApply: ({ context }) => context.orders?.action === 'apply',
    wantsDown: ({ context }) => context.orders?.action === 'down',
    leavesHalfMade: ({ context: { host, orders, outcome } }) =>
      host?.halfMade === true && orders?.action !== 'down' && !cutShort.includes(outcome!.ending),
    endsAs: ({ context }, ending: Ending) => context.outcome?.ending === ending,
    mayReport: ({ context }) => context.orders !== null && endOf(context).report !== null,
    mustPrune: ({ context }) => context.start.prune && endOf(context).exit === 0,
    tokenAtRisk: ({ context }, p: { output: { atRisk: boolean } }) => p.output.atRisk && endOf(context).exit === 0,
  },
});

/** How a service's fault travels: into the outcome, and on to `failing`. */
export const fails = {
  target: 'failing',
  actions: { type: 'keepFault', params: ({ event }: { event: { error: unknown } }) => event },
} as const;

const cutShort: Ending[] = ['stopped', 'interrupted'];

function endOf(context: TickContext) {
  return endings[context.outcome!.ending].meta;
}

/** A failed bundle that waits for its next try leaves time to mend the release before it. */
function mayHeal(orders: Orders | null): boolean {
  return orders?.action === 'none' || (orders?.action === 'apply' && orders.pause !== null);
}
