import { closestMatch } from './closestMatch.ts';

it.each([
  ['transprot', 'transport'],
  ['Interval_S', 'interval_s'],
  ['headrom_bytes', 'headroom_bytes'],
  ['prot', 'port'],
  ['prts', 'port'],
])('matches %s with %s', (word, meant) => {
  expect(closestMatch(word, ['transport', 'interval_s', 'headroom_bytes', 'pool', 'port'])).toBe(meant);
});

it.each([
  ['t', 'port', 'abcd'],
  ['abc', 'abx', 'bax'],
  ['ab', 'abc', 'bc'],
  ['ab', 'abc', 'ca'],
  ['ab', 'ba', 'bc'],
  ['abc', 'a', 'axxc1'],
  ['abcd', 'bacd', 'badc'],
])('%s is nearer to %s than to %s', (word, nearer, farther) => {
  expect(closestMatch(word, [farther, nearer])).toBe(nearer);
  expect(closestMatch(word, [nearer, farther])).toBe(nearer);
});

it('returns the first of several candidates with the same distance', () => {
  expect(closestMatch('ax', ['bx', 'cx'])).toBe('bx');
});
