import { nearest } from './nearest.ts';

it.each([
  ['transprot', 'transport'],
  ['Interval_S', 'interval_s'],
  ['headrom_bytes', 'headroom_bytes'],
  ['prot', 'port'],
  ['prts', 'port'],
])('takes %s for %s', (word, meant) => {
  expect(nearest(word, ['transport', 'interval_s', 'headroom_bytes', 'pool', 'port'])).toBe(meant);
});

it('names the first of equally near candidates', () => {
  expect(nearest('ax', ['bx', 'cx'])).toBe('bx');
});
