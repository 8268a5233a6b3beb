import { setup } from 'xstate';
import { type ApplyStart, downServices } from './services.ts';

/** Takes the project down (spec §7). A fault ends the machine; the next tick starts again from the beginning. */
export const down = setup({
  types: { input: {} as ApplyStart, context: {} as ApplyStart },
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
        input: ({ context }) => context,
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
