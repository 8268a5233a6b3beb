import { setup } from 'xstate';
import { downServices } from './services.ts';
import type { DesiredState } from './types.ts';

/** Takes the project down (spec §7). A fault ends the machine; the next tick starts again from the beginning. */
export const down = setup({
  types: { input: {} as { desired: DesiredState }, context: {} as { desired: DesiredState } },
  actors: downServices,
}).createMachine({
  id: 'down',
  context: ({ input }) => input,
  initial: 'composingDown',
  states: {
    composingDown: {
      description: 'Runs compose down with --remove-orphans; the volume rule decides whether volumes are removed.',
      invoke: {
        id: 'composeDown',
        src: 'composeDown',
        input: ({ context }) => ({ desired: context.desired }),
        onDone: 'clearingApplied',
      },
    },
    clearingApplied: {
      description: 'Clears applied_sha, removes `current` and strips the `.env` of every release.',
      invoke: { id: 'clearApplied', src: 'clearApplied', onDone: 'done' },
    },
    done: { type: 'final', description: 'No container of the project runs.' },
  },
});
