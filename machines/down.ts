import { setup } from 'xstate';
import { downServices } from './services.ts';
import type { Orders } from './words.ts';

/** Takes the project down (spec §7): a fault ends it at once, and the next tick begins again. */
export const down = setup({
  types: { input: {} as { orders: Orders }, context: {} as { orders: Orders } },
  actors: downServices,
}).createMachine({
  id: 'down',
  context: ({ input }) => input,
  initial: 'composingDown',
  states: {
    composingDown: {
      description: 'compose down with --remove-orphans; volumes go only by the volume rule.',
      invoke: {
        id: 'composeDown',
        src: 'composeDown',
        input: ({ context }) => ({ orders: context.orders }),
        onDone: 'clearingApplied',
      },
    },
    clearingApplied: {
      description: 'Clears applied_sha, removes `current`, keeps releases/ without their `.env`.',
      invoke: { id: 'clearApplied', src: 'clearApplied', onDone: 'ended' },
    },
    ended: { type: 'final', description: 'Nothing of the project runs any more.' },
  },
});
