import { formatSkew } from './clockSkew.ts';

it.each([
  [12, '12 s ahead of'],
  [-12, '12 s behind'],
  [0, '0 s behind'],
])('a skew of %i s puts this host %s the server', (skewS, words) => {
  expect(formatSkew(skewS)).toBe(words);
});
