import { rollout } from '../../../machines/rollout.ts';
import { rolloutActs, rolloutConditions, waveWords } from './rollouts.rules.ts';

it('has words for each state of the machine, and something to do in each that is not the end', () => {
  const states = Object.entries(rollout.states);
  expect(Object.keys(rolloutConditions).toSorted()).toEqual(states.map(([name]) => name).toSorted());
  const withActs = states.filter(([name]) => rolloutActs(name).length > 0).map(([name]) => name);
  expect(withActs).toEqual(states.filter(([, { type }]) => type !== 'final').map(([name]) => name));
});

it.each([
  [{ count: 1, percent: null, labels: { ring: 'canary' } }, '1 of ring=canary'],
  [{ count: null, percent: 10, labels: {} }, '10 %'],
  [{ count: null, percent: null, labels: {} }, 'all'],
])('a wave %j takes %s', (wave, words) => expect(waveWords(wave)).toBe(words));
