import { assign, sendTo, setup } from 'xstate';
import { endings, commandEndings } from './endings.ts';
import { tick } from './tick.ts';
import type { RunOptions, TickResult } from './types.ts';

type LoopEnding = 'loopStopped' | 'envMismatch';

interface LoopContext {
  options: RunOptions;
  stopping: boolean;
  ending: LoopEnding;
  /** True when the check-in of the last tick was overdue. */
  wasOverdue: boolean;
}

/** `deployd run` (spec §2): tick, sleep, repeat. STOP ends the loop; a running tick first releases its lock. */
export const loop = setup({
  types: {
    input: {} as RunOptions,
    context: {} as LoopContext,
    events: {} as { type: 'STOP' },
    output: {} as { ending: LoopEnding },
  },
  actors: { tick },
  actions: {
    setStopping: assign({ stopping: true }),
    forwardStop: sendTo('tick', { type: 'STOP' }),
    setOverdue: assign({ wasOverdue: (_, p: { output: TickResult }) => p.output.wasOverdue }),
    endAsEnvMismatch: assign({ ending: 'envMismatch' }),
  },
  guards: {
    isStopping: ({ context }) => context.stopping,
    isEnvMismatch: (_, p: { output: TickResult }) => p.output.ending === 'envMismatch',
  },
  /** Milliseconds. The command provides the real delay: interval_s plus jitter. */
  delays: { interval: 60_000 },
}).createMachine({
  id: 'loop',
  context: ({ input }) => ({ options: input, stopping: false, ending: 'loopStopped', wasOverdue: false }),
  output: ({ context }) => ({ ending: context.ending }),
  initial: 'ticking',
  states: {
    ticking: {
      description: 'Runs one tick.',
      on: { STOP: { actions: ['setStopping', 'forwardStop'] } },
      invoke: {
        id: 'tick',
        src: 'tick',
        input: ({ context }) => context.options,
        onDone: [
          {
            guard: { type: 'isEnvMismatch', params: ({ event }) => event },
            target: 'envMismatch',
            actions: 'endAsEnvMismatch',
          },
          { guard: 'isStopping', target: 'loopStopped' },
          { target: 'sleeping', actions: { type: 'setOverdue', params: ({ event }) => event } },
        ],
        onError: [{ guard: 'isStopping', target: 'loopStopped' }, { target: 'sleeping' }],
      },
    },
    sleeping: {
      description: 'Waits interval_s plus jitter.',
      on: { STOP: 'loopStopped' },
      after: { interval: 'ticking' },
    },
    loopStopped: commandEndings.loopStopped,
    envMismatch: endings.envMismatch,
  },
});
