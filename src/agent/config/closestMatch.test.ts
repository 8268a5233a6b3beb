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

it('returns the first of several candidates with the same distance', () => {
  expect(closestMatch('ax', ['bx', 'cx'])).toBe('bx');
});
