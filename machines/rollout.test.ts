import { graphOf } from './graph.ts';
import {
  newRollout,
  nextRollout,
  rollout,
  type RolloutEvent,
  type RolloutRecord,
  type RolloutState,
} from './rollout.ts';

const start = { type: 'START_WAVE' } as const;
const complete = { type: 'COMPLETE_WAVE' } as const;
const endSoak = { type: 'END_SOAK' } as const;
const pass = { type: 'PASS_GATE' } as const;
const halt = { type: 'HALT', by: 'failures' } as const;
const resume = { type: 'RESUME' } as const;
const abort = { type: 'ABORT' } as const;

/** The first of two waves, without a gate. */
const inFirstWave = { waves: 2, started: 1, isGated: false, haltedBy: null };

/** For each state and event the next state; null where the event is not allowed. */
const rows: [event: RolloutEvent, name: string, next: Record<RolloutState, RolloutState | null>][] = [
  [start, 'the start of a wave', next('updating', null, null, null, null)],
  [complete, 'the success of a wave', next(null, 'soaking', null, null, null)],
  [endSoak, 'the end of the soak', next(null, null, 'pending', null, null)],
  [pass, 'a passed gate', next(null, null, null, 'pending', null)],
  [halt, 'failures over the limit', next('halted', 'halted', 'halted', 'halted', null)],
  [resume, 'a resume', next(null, null, null, null, 'updating')],
  [abort, 'an abort', next('aborted', 'aborted', 'aborted', 'aborted', 'aborted')],
];

describe.each(rows)('%j', (event, name, expected) => {
  it.each(Object.entries(expected))(`${name} leads from %s to %s`, (state, target) => {
    expect(stateAfter({ ...inFirstWave, state: state as RolloutState }, event)).toBe(target);
  });
});

it('has a row for every event of the machine', () => {
  const events = graphOf(rollout).arrows.map(({ on }) => on);
  expect(new Set(rows.map(([{ type }]) => type))).toEqual(new Set(events));
});

it.each([
  [endSoak, 'soaking'],
  [pass, 'gated'],
] as const)('is done after its last wave: %j in %s', (event, state) => {
  expect(stateAfter({ ...inFirstWave, started: 2, state }, event)).toBe('done');
});

it('asks the gate after each wave, including the last one', () => {
  const [first, last] = [1, 2].map((started) => ({ ...inFirstWave, started, isGated: true }));
  expect([first!, last!].map((facts) => stateAfter({ ...facts, state: 'soaking' }, endSoak))).toEqual([
    'gated',
    'gated',
  ]);
});

it('counts the waves that it starts, and halts with a reason until it is resumed or aborted', () => {
  const created = newRollout({ waves: 2, isGated: true });
  expect(created).toEqual({ state: 'pending', waves: 2, started: 0, isGated: true, haltedBy: null });
  const updating = nextRollout(created, start)!;
  expect(updating).toMatchObject({ state: 'updating', started: 1 });
  const halted = nextRollout(updating, { type: 'HALT', by: 'operator' })!;
  expect(halted).toMatchObject({ state: 'halted', started: 1, haltedBy: 'operator' });
  expect(nextRollout(halted, resume)).toEqual(updating);
  expect(nextRollout(halted, abort)).toMatchObject({ state: 'aborted', haltedBy: null });
});

it('waits for its first wave again if it is resumed before that wave has started', () => {
  const halted = nextRollout(newRollout({ waves: 2, isGated: false }), halt)!;
  expect(nextRollout(halted, resume)).toMatchObject({ state: 'pending', started: 0, haltedBy: null });
});

function stateAfter(record: RolloutRecord, event: RolloutEvent): RolloutState | null {
  return nextRollout(record, event)?.state ?? null;
}

/** The next states from pending, updating, soaking, gated and halted; the final states allow nothing. */
function next(...states: (RolloutState | null)[]): Record<RolloutState, RolloutState | null> {
  const from = ['pending', 'updating', 'soaking', 'gated', 'halted', 'done', 'aborted'] as const;
  return Object.fromEntries(from.map((state, index) => [state, states[index] ?? null])) as Record<
    RolloutState,
    RolloutState | null
  >;
}
