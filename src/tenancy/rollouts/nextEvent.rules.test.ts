import { newRollout, type RolloutState } from '../../../machines/rollout.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';
import type { RolloutPlan, WaveProgress } from '../store/database.ts';
import { nextEvent } from './rollout.rules.ts';

const now = Date.parse('2026-11-26T08:00:00Z');
const none = {
  ...{ hosts: 0, waiting: 0, succeeded: 0, failed: 0, excused: 0 },
  ...{ offline: 0, absent: 0, asleep: 0, verified: 0 },
};
const closed: TimeWindow = { days: ['mon'], start: '08:00', minutes: 60, time_zone: 'UTC' };
const plan: RolloutPlan = { waves: [{ count: 1 }, {}], max_failures: 1, soak_s: 60, gate: 'none', windows: [] };

const nextIn = (
  state: RolloutState,
  wave: Partial<WaveProgress> = {},
  {
    seconds = 0,
    windows = plan.windows,
    runsFor = 900,
    earlier = [],
  }: Partial<Record<'seconds' | 'runsFor', number>> & {
    windows?: RolloutPlan['windows'];
    earlier?: WaveProgress[];
  } = {},
) =>
  nextEvent({
    record: { ...newRollout({ waves: 3, isGated: true }), state, started: earlier.length + 1 },
    plan: { ...plan, windows },
    progress: { waves: [...earlier, { ...none, ...wave }, none], remaining: 9, newcomers: 0 },
    stateSince: now - seconds * 1000,
    now,
    startedAt: now - runsFor * 1000,
    silenceMs: 300_000,
  });
const eventIn = (...situation: Parameters<typeof nextIn>) => nextIn(...situation)?.type ?? null;

it('starts a wave only in an open window', () => {
  expect([eventIn('pending'), eventIn('pending', {}, { windows: [closed] })]).toEqual(['START_WAVE', null]);
});

const verified = { hosts: 2, succeeded: 2, verified: 2 };
/** Two check-ins missed, a download and the wait for health. */
const deadline = { seconds: 300 + 1800, runsFor: 9000 };

it.each<[what: string, wave: Partial<WaveProgress>, event: string | null, atDeadline: string]>([
  ['a verified wave', verified, 'COMPLETE_WAVE', 'COMPLETE_WAVE'],
  ['a wave without hosts', {}, null, 'HALT'],
  ['a wave that only succeeded before a resume', { ...verified, verified: 0 }, null, 'HALT'],
  ['a wave with a host that is held', { ...verified, hosts: 3, waiting: 1 }, null, 'HALT'],
  ['a wave with a host that was offline before', { ...verified, hosts: 3, absent: 1 }, null, 'COMPLETE_WAVE'],
  ['a wave with only such hosts', { hosts: 2, absent: 2 }, null, 'HALT'],
  ['a wave with a laptop that sleeps', { ...verified, hosts: 3, asleep: 1 }, 'COMPLETE_WAVE', 'COMPLETE_WAVE'],
  ['a wave of failed hosts within the limit', { hosts: 1, failed: 1 }, null, 'HALT'],
  ['a wave of excused hosts', { hosts: 1, excused: 1 }, null, 'HALT'],
])('next event of %s: %s is %s, and %s at its deadline', (_, wave, event, atDeadline) => {
  expect([eventIn('updating', wave), eventIn('updating', wave, deadline)]).toEqual([event, atDeadline]);
});

it('never passes a wave at its deadline, and gives hosts time to return after an outage of the service', () => {
  const waiting = { hosts: 1, waiting: 1 };
  expect(nextIn('updating', waiting, deadline)).toEqual({ type: 'HALT', by: 'deadline' });
  expect([299, 300].map((runsFor) => eventIn('updating', waiting, { seconds: 9000, runsFor }))).toEqual([null, 'HALT']);
});

it('ends a soak after its time, when each host of the wave was seen again', () => {
  expect([59, 60].map((seconds) => eventIn('soaking', verified, { seconds }))).toEqual([null, 'END_SOAK']);
  const unseen = { ...verified, verified: 1 };
  expect([60, 2159, 2160].map((seconds) => eventIn('soaking', unseen, { seconds, runsFor: 9000 }))).toEqual([
    null,
    null,
    'HALT',
  ]);
});

it('halts a soak for hosts that fell silent, beyond the limit', () => {
  const silent = (offline: number) => ({ hosts: 5, succeeded: 3, verified: 3, offline });
  expect([1, 2].map((offline) => eventIn('soaking', silent(offline), { seconds: 60 }))).toEqual(['END_SOAK', 'HALT']);
});

it('extends a soak if the service was down when its hosts could have checked in', () => {
  const seen = (seconds: number) => (runsFor: number) => eventIn('soaking', verified, { seconds, runsFor });
  expect([299, 300].map(seen(3600))).toEqual([null, 'END_SOAK']);
  expect([60, 61].map(seen(60))).toEqual(['END_SOAK', 'END_SOAK']);
});

it('halts for failures, with its own reason', () => {
  expect(nextIn('updating', { hosts: 9, failed: 2 })).toEqual({ type: 'HALT', by: 'failures' });
});

it.each(['pending', 'updating', 'soaking', 'gated'] as const)(
  'adds failures of earlier waves to the limit in %s',
  (state) => {
    const earlier = [{ ...none, hosts: 4, succeeded: 3, failed: 1 }];
    const next = (failed: number) => nextIn(state, { ...verified, failed }, { earlier, seconds: 99 });
    expect([next(0)?.type === 'HALT', next(1)]).toEqual([false, { type: 'HALT', by: 'failures' }]);
  },
);

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
