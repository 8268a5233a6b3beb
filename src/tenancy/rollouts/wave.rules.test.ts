import type { Candidate, Wave } from '../store/database.ts';
import { completeWaves, drawFault, drawWaves } from './rollout.rules.ts';

const selectWave = (candidates: readonly Candidate[], wave: Wave) => drawWaves(candidates, [wave])[0];

const host = (number: number, { joined = false, ring = 'a' } = {}): Candidate => ({
  ids: [`h${number}`],
  labels: [{ ring, disk: 'ssd' }],
  hasJoined: joined,
  applied: [],
});
const fleet = [host(1, { joined: true }), host(2), host(3, { ring: 'b' }), host(4), host(5), host(6), host(7)];

it.each([
  ['a number of hosts', { count: 2 }, ['h2', 'h3']],
  ['more hosts than there are', { count: 9 }, ['h2', 'h3', 'h4', 'h5', 'h6', 'h7']],
  ['a percentage of all hosts, rounded up', { percent: 29 }, ['h2', 'h3', 'h4']],
  ['an exact percentage', { percent: 100 / 7 }, ['h2']],
  ['one host at least', { percent: 1 }, ['h2']],
  [
    'a part of the hosts with a label, those of earlier waves too',
    { percent: 50, labels: { ring: 'a' } },
    ['h2', 'h4', 'h5'],
  ],
  ['the hosts with a label', { labels: { ring: 'b' } }, ['h3']],
  ['hosts with each of two labels', { labels: { ring: 'b', disk: 'hdd' } }, []],
  ['a label that no host has', { count: 2, labels: { site: 'fra' } }, []],
  ['all remaining hosts', {}, ['h2', 'h3', 'h4', 'h5', 'h6', 'h7']],
])('a wave takes %s', (_, wave, ids) => {
  expect(selectWave(fleet, wave)).toEqual(ids);
});

describe('the managers of a swarm', () => {
  const labels = [{ ring: 'a' }, { ring: 'c' }, {}];
  const swarm: Candidate = { ids: ['m1', 'm2', 'm3'], labels, hasJoined: false, applied: [] };

  it.each([
    ['count as one host', { count: 2 }, ['m1', 'm2', 'm3', 'h2']],
    ['are taken together if one has the label', { labels: { ring: 'c' } }, ['m1', 'm2', 'm3']],
    ['do not combine their labels', { labels: { ring: 'c', disk: 'ssd' } }, []],
  ])('%s', (_, wave, ids) => {
    expect(selectWave([swarm, ...fleet], wave)).toEqual(ids);
  });
});

it('gives each host to the first wave that takes it', () => {
  const waves = [{ labels: { ring: 'b' } }, { count: 2 }, { percent: 50 }, {}];
  expect(drawWaves(fleet.slice(1), waves)).toEqual([['h3'], ['h2', 'h4'], ['h5', 'h6', 'h7'], []]);
});

it.each([
  [[{ labels: { ring: 'b' } }, {}], null],
  [[{ count: 1 }, { labels: { ring: 'cannary' } }, {}], 'wave 2 selects no host: no host with ring=cannary is left'],
  [[{}, { count: 1 }], 'wave 2 selects no host: no host is left'],
])('refuses waves without hosts: %j', (waves: Wave[], fault) => {
  const found = drawFault(drawWaves(fleet, waves), waves);
  expect(found).toEqual(fault === null ? null : expect.stringContaining(fault));
});

it('takes no host if there is none', () => {
  expect([{}, { percent: 100 }, { count: 1 }].map((wave) => selectWave([], wave))).toEqual([[], [], []]);
});

it.each([
  [[], [{}]],
  [[{ count: 1 }], [{ count: 1 }, {}]],
  [[{ labels: { ring: 'a' } }], [{ labels: { ring: 'a' } }, {}]],
  [[{ percent: 50 }], [{ percent: 50 }, {}]],
  [
    [{ count: 1 }, {}],
    [{ count: 1 }, {}],
  ],
  [[{ percent: 100 }], [{ percent: 100 }]],
  [[{ labels: {} }], [{ labels: {} }]],
])('completes %j with a wave of all remaining hosts: %j', (waves, complete) => {
  expect(completeWaves(waves)).toEqual(complete);
});
