import type { HostGroup, WaveProgress } from '../store/database.ts';
import { failuresOf } from '../webhooks/event.rules.ts';
import { countRollouts, isSuccessful, progressOf } from './rollout.rules.ts';

const group = (changes: Partial<HostGroup>): HostGroup => ({
  wave: 0,
  outcome: 'waiting',
  state: 'active',
  silent: 0,
  laptop: 0,
  healthy: 1,
  reached: 1,
  fresh: 1,
  hosts: 1,
  ...changes,
});
const none = {
  ...{ hosts: 0, waiting: 0, succeeded: 0, failed: 0, excused: 0 },
  ...{ offline: 0, absent: 0, asleep: 0, verified: 0 },
};

it.each<[what: string, host: Partial<HostGroup>, status: keyof WaveProgress | null]>([
  ['is offered the bundle', {}, 'waiting'],
  ['is on hold or outside its window, so reports nothing', {}, 'waiting'],
  ['is not offered the bundle yet', { outcome: null }, 'waiting'],
  ['runs the bundle', { outcome: 'succeeded' }, 'succeeded'],
  ['has failed', { outcome: 'failed' }, 'failed'],
  ['had failed before a resume', { outcome: 'excused' }, 'excused'],
  ['is silent, but not offline yet', { silent: 1 }, 'offline'],
  ['is offline', { state: 'offline', silent: 1 }, 'offline'],
  ['is offline by an earlier, shorter limit', { state: 'offline' }, 'offline'],
  ['is a sleeping laptop', { laptop: 1, silent: 1 }, 'asleep'],
  ['is a laptop that is offline', { laptop: 1, state: 'offline', silent: 1 }, 'asleep'],
  ['went offline after it applied the bundle', { outcome: 'succeeded', state: 'offline', silent: 1 }, 'offline'],
  ['fell silent after it applied the bundle', { outcome: 'succeeded', silent: 1 }, 'offline'],
  [
    'is a laptop that fell silent after it applied the bundle',
    { outcome: 'succeeded', silent: 1, laptop: 1 },
    'asleep',
  ],
  ['applied the bundle, and is unhealthy now', { outcome: 'succeeded', healthy: 0 }, 'failed'],
  ['is unhealthy, and has not applied the bundle yet', { healthy: 0 }, 'waiting'],
  ['has been silent since before its wave', { silent: 1, reached: 0 }, 'absent'],
  ['has been offline since before its wave', { state: 'offline', silent: 1, reached: 0 }, 'absent'],
  ['went offline after it failed', { outcome: 'failed', state: 'offline', silent: 1 }, 'failed'],
  ['is being retired', { state: 'retiring' }, null],
  ['is retired', { state: 'retired', outcome: 'failed' }, null],
])('counts a host that %s', (_, host, status) => {
  const verified = status === 'succeeded' ? 3 : 0;
  const expected = status === null ? none : { ...none, hosts: 3, verified, [status]: 3 };
  const progress = progressOf([group({ ...host, hosts: 3 })], { started: 1, waves: 1 });
  expect(progress).toEqual({ waves: [expected], remaining: 0, newcomers: 0 });
});

it('counts each wave, and the hosts whose wave has not started', () => {
  const groups = [
    group({ hosts: 2, outcome: 'succeeded' }),
    group({ hosts: 3, outcome: 'succeeded', fresh: 0 }),
    group({ wave: 1, hosts: 3 }),
    group({ wave: 1, hosts: 1, outcome: 'failed' }),
    group({ wave: 2, hosts: 5 }),
    group({ wave: null, outcome: null, state: 'offline', silent: 1, hosts: 7 }),
    group({ wave: null, outcome: null, state: 'created', hosts: 9 }),
  ];
  expect(progressOf(groups, { started: 2, waves: 3 })).toEqual({
    waves: [
      { ...none, hosts: 5, succeeded: 5, verified: 2 },
      { ...none, hosts: 4, waiting: 3, failed: 1 },
      { ...none, hosts: 5 },
    ],
    remaining: 12,
    newcomers: 7,
  });
});

it.each<[wave: Partial<WaveProgress>, maxFailures: number, success: boolean]>([
  [{ succeeded: 3 }, 0, true],
  [{ succeeded: 3, verified: 0 }, 0, false],
  [{ succeeded: 3, absent: 1 }, 0, false],
  [{ succeeded: 3, waiting: 1 }, 9, false],
  [{ succeeded: 3, failed: 1 }, 0, false],
  [{ succeeded: 3, failed: 1 }, 1, true],
  [{ succeeded: 3, offline: 1 }, 0, false],
  [{ succeeded: 3, failed: 1, offline: 1 }, 1, false],
  [{ succeeded: 3, failed: 1, offline: 1 }, 2, true],
  [{ succeeded: 1, asleep: 9 }, 0, true],
  [{ asleep: 9 }, 0, false],
  [{ failed: 1 }, 1, false],
  [{ excused: 1 }, 0, false],
  [{ excused: 1, succeeded: 1 }, 0, true],
])('a wave of %j with at most %i failures: succeeded %s', (changes, maxFailures, success) => {
  const wave = { ...none, verified: changes.succeeded ?? 0, ...changes };
  const progress = { waves: [none, wave], remaining: 4, newcomers: 0 };
  expect(isSuccessful(progress, { started: 2, maxFailures, isOverdue: false })).toBe(success);
});

it('counts the failures of all waves, and the lost hosts of the current one', () => {
  const waves = [{ ...none, failed: 1, offline: 4 }, { ...none, succeeded: 1, offline: 2 }, none];
  expect(failuresOf({ waves, remaining: 0, newcomers: 0 }, 2)).toBe(3);
});

it('counts rollouts by state, and the hosts of all their waves by outcome', () => {
  const waves = [
    { ...none, hosts: 3, waiting: 1, failed: 2 },
    { ...none, hosts: 4, waiting: 4 },
  ];
  const counts = countRollouts([
    { state: 'halted', progress: { waves, remaining: 9, newcomers: 0 } },
    { state: 'halted', progress: { waves: [], remaining: 0, newcomers: 0 } },
    { state: 'pending', progress: { waves: [{ ...none, hosts: 1, asleep: 1 }], remaining: 0, newcomers: 0 } },
  ]);
  const hosts = { waiting: 5, succeeded: 0, failed: 2, excused: 0, offline: 0, absent: 0, asleep: 1 };
  expect(counts).toEqual({ states: { halted: 2, pending: 1 }, hosts });
});
