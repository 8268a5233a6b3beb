import { assign, initialTransition, setup, transition, type SnapshotFrom } from 'xstate';

/**
 * Why a rollout is halted: an operator, an unfinished abort, too many failures, or a wave that was not verified by its
 * deadline. Other reasons are a denial or a timeout at a gate, and a restored backup.
 */
export const haltReasons = ['operator', 'abort', 'failures', 'deadline', 'gate', 'restore'] as const;
export type HaltReason = (typeof haltReasons)[number];

/** The facts that the tenancy service stores about a rollout, in addition to its state. */
export interface RolloutFacts {
  /** Total number of waves. */
  waves: number;
  /** Number of waves that have started; the last of them is the current one. */
  started: number;
  /** The gate is asked after a wave succeeds. */
  isGated: boolean;
  /** Null unless it is halted. */
  haltedBy: HaltReason | null;
}

/** An event of a rollout. */
export type RolloutEvent =
  | { type: 'START_WAVE' }
  | { type: 'COMPLETE_WAVE' }
  | { type: 'END_SOAK' }
  | { type: 'PASS_GATE' }
  | { type: 'HALT'; by: HaltReason }
  | { type: 'RESUME' }
  | { type: 'ABORT' };

/**
 * A rollout makes a bundle the desired one of an environment, wave by wave. The machine never runs: the tenancy service
 * keeps state and facts in a row, calls `nextRollout` at each event, and stores the result in the same transaction as
 * the event.
 */
export const rollout = setup({
  types: { context: {} as RolloutFacts, events: {} as RolloutEvent },
  actions: {
    countWave: assign({ started: ({ context }) => context.started + 1 }),
    keepReason: assign({ haltedBy: ({ event }) => (event.type === 'HALT' ? event.by : null) }),
    clearReason: assign({ haltedBy: null }),
  },
  guards: {
    isGated: ({ context }) => context.isGated,
    isLastWave: ({ context }) => context.started === context.waves,
    hasStarted: ({ context }) => context.started > 0,
  },
}).createMachine({
  id: 'rollout',
  context: { waves: 1, started: 0, isGated: false, haltedBy: null },
  initial: 'pending',
  states: {
    pending: {
      description: 'Waits for a window in which the next wave may start.',
      on: { START_WAVE: { target: 'updating', actions: 'countWave' }, HALT: halt(), ABORT: 'aborted' },
    },
    updating: {
      description: 'The hosts of the wave get the bundle.',
      on: {
        COMPLETE_WAVE: 'soaking',
        HALT: halt(),
        ABORT: 'aborted',
      },
    },
    soaking: {
      description: 'The wave has succeeded; failures of its hosts still count during the soak.',
      on: {
        END_SOAK: [
          { guard: 'isGated', target: 'gated' },
          { guard: 'isLastWave', target: 'done' },
          { target: 'pending' },
        ],
        HALT: halt(),
        ABORT: 'aborted',
      },
    },
    gated: {
      description: 'Waits until an operator or a webhook lets the rollout continue.',
      on: {
        PASS_GATE: [{ guard: 'isLastWave', target: 'done' }, { target: 'pending' }],
        HALT: halt(),
        ABORT: 'aborted',
      },
    },
    halted: {
      description: 'No further host gets the bundle; hosts that run it keep it.',
      on: {
        RESUME: [
          { guard: 'hasStarted', target: 'updating', actions: 'clearReason' },
          { target: 'pending', actions: 'clearReason' },
        ],
        ABORT: { target: 'aborted', actions: 'clearReason' },
      },
    },
    done: { type: 'final', description: 'The bundle is the desired bundle of the environment, for every host.' },
    aborted: { type: 'final', description: 'The previous content is desired again; hosts that still run it keep it.' },
  },
});

function halt() {
  return { target: 'halted', actions: 'keepReason' } as const;
}

export type RolloutState = SnapshotFrom<typeof rollout>['value'];

/** A rollout's row, as far as its progress through the waves is concerned. */
export interface RolloutRecord extends RolloutFacts {
  state: RolloutState;
}

/** A rollout that was just created. */
export function newRollout({ waves, isGated }: Pick<RolloutFacts, 'waves' | 'isGated'>): RolloutRecord {
  return { ...recordOf(initialTransition(rollout)[0]), waves, isGated };
}

/** The record after an event; null if the event is not allowed in its state. */
export function nextRollout({ state, ...context }: RolloutRecord, event: RolloutEvent): RolloutRecord | null {
  const snapshot = rollout.resolveState({ value: state, context });
  if (!snapshot.can(event)) return null;
  return recordOf(transition(rollout, snapshot, event)[0]);
}

function recordOf({ value, context }: SnapshotFrom<typeof rollout>): RolloutRecord {
  return { state: value, ...context };
}
