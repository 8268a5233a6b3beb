import { newRollout, type RolloutState } from '../../../machines/rollout.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';
import type { RolloutPlan, WaveProgress } from '../store/database.ts';
import { nextEvent } from './rollout.rules.ts';

const now = Date.parse('2026-11-26T08:00:00Z');
const none = { hosts: 0, waiting: 0, succeeded: 0, failed: 0, excused: 0, offline: 0, asleep: 0 };
const closed: TimeWindow = { days: ['mon'], start: '08:00', minutes: 60, time_zone: 'UTC' };
const plan: RolloutPlan = { waves: [{ count: 1 }, {}], max_failures: 1, soak_s: 60, gate: 'none', windows: [] };

const nextIn = (
  state: RolloutState,
  wave: Partial<WaveProgress> = {},
  {
    seconds = 0,
    windows = plan.windows,
    runsFor = 900,
  }: Partial<Record<'seconds' | 'runsFor', number>> & {
    windows?: RolloutPlan['windows'];
  } = {},
) =>
  nextEvent({
    record: { ...newRollout({ waves: 2, isGated: true }), state, started: 1 },
    plan: { ...plan, windows },
    progress: { waves: [{ ...none, ...wave }], remaining: 9 },
    stateSince: now - seconds * 1000,
    now,
    startedAt: now - runsFor * 1000,
    silenceMs: 300_000,
  });
const eventIn = (...situation: Parameters<typeof nextIn>) => nextIn(...situation)?.type ?? null;

it('starts a wave only in an open window', () => {
  expect([eventIn('pending'), eventIn('pending', {}, { windows: [closed] })]).toEqual(['START_WAVE', null]);
});

it('completes a successful wave, skips an empty one, and waits for any other', () => {
  const waves = [{}, { hosts: 2, succeeded: 2 }, { hosts: 2, succeeded: 1, waiting: 1 }, { hosts: 1, failed: 1 }];
  expect(waves.map((wave) => eventIn('updating', wave))).toEqual(['SKIP_WAVE', 'COMPLETE_WAVE', null, null]);
});

it('ends a soak after its time', () => {
  expect([59, 60].map((seconds) => eventIn('soaking', {}, { seconds }))).toEqual([null, 'END_SOAK']);
});

it('extends a soak if the service was down when its hosts could have checked in', () => {
  expect([299, 300].map((runsFor) => eventIn('soaking', {}, { seconds: 3600, runsFor }))).toEqual([null, 'END_SOAK']);
  expect([60, 61].map((runsFor) => eventIn('soaking', {}, { seconds: 60, runsFor }))).toEqual(['END_SOAK', 'END_SOAK']);
});

it('halts for failures, with its own reason', () => {
  expect(nextIn('updating', { hosts: 9, failed: 2 })).toEqual({ type: 'HALT', by: 'failures' });
});

it('never passes a gate or resumes by itself', () => {
  expect([eventIn('gated'), eventIn('halted')]).toEqual([null, null]);
});

it.each<[RolloutState, string | null]>([
  ['pending', 'HALT'],
  ['updating', 'HALT'],
  ['soaking', 'HALT'],
  ['gated', 'HALT'],
  ['halted', null],
  ['done', null],
  ['aborted', null],
])('next event after too many failures in %s: %s', (state, event) => {
  expect(eventIn(state, { hosts: 9, failed: 2 }, { seconds: 99 })).toBe(event);
});
