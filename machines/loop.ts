import { assign, sendTo, setup } from 'xstate';
import { endings, otherEndings } from './endings.ts';
import { tick } from './tick.ts';
import type { Outcome, Start } from './words.ts';

type LoopEnding = 'loopStopped' | 'envMismatch';

/** `deployd run` (spec §2): tick, sleep, repeat. STOP ends it, in mid-tick only after the tick has closed. */
export const loop = setup({
  types: {
    input: {} as Start,
    context: {} as { start: Start; stopping: boolean; ending: LoopEnding },
    events: {} as { type: 'STOP' },
    output: {} as { ending: LoopEnding },
  },
  actors: { tick },
  actions: {
    noteStop: assign({ stopping: true }),
    passStop: sendTo('tick', { type: 'STOP' }),
    endMismatched: assign({ ending: 'envMismatch' }),
  },
  guards: {
    stopping: ({ context }) => context.stopping,
    envDiffers: (_, p: { output: Outcome }) => p.output.ending === 'envMismatch',
  },
  /** `interval` is provided by the command: interval_s plus up to 10 s of jitter, once more than that, in milliseconds. */
  delays: { interval: 60_000 },
}).createMachine({
  id: 'loop',
  context: ({ input }) => ({ start: input, stopping: false, ending: 'loopStopped' }),
  output: ({ context }) => ({ ending: context.ending }),
  initial: 'ticking',
  states: {
    ticking: {
      description: 'One tick runs.',
      on: { STOP: { actions: ['noteStop', 'passStop'] } },
      invoke: {
        id: 'tick',
        src: 'tick',
        input: ({ context }) => context.start,
        onDone: [
          {
            guard: { type: 'envDiffers', params: ({ event }) => event },
            target: 'envMismatch',
            actions: 'endMismatched',
          },
          { guard: 'stopping', target: 'loopStopped' },
          { target: 'sleeping' },
        ],
        onError: [{ guard: 'stopping', target: 'loopStopped' }, { target: 'sleeping' }],
      },
    },
    sleeping: {
      description: 'Waits interval_s plus jitter.',
      on: { STOP: 'loopStopped' },
      after: { interval: 'ticking' },
    },
    loopStopped: otherEndings.loopStopped,
    envMismatch: endings.envMismatch,
  },
});
