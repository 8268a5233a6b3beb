import { comparisonOf } from './forms.rules.ts';

const bundles = [{ sha256: 'c' }, { sha256: 'b' }, { sha256: 'a' }];

it.each([
  ['', 'a', 'a → c'],
  ['', 'c', 'b → c'],
  ['', null, 'b → c'],
  ['to=a', 'c', 'c → a'],
  ['to=b', 'b', 'a → b'],
  ['to=a', 'a', 'null → a'],
  ['to=b', null, 'a → b'],
  ['to=old', null, 'null → old'],
  ['from=a&to=b', 'c', 'a → b'],
  ['from=a', 'b', 'a → c'],
  ['from=&to=b', 'a', 'a → b'],
  ['from=a&to=', 'b', 'a → c'],
])('%s of an env with the desired bundle %s is %s', (query, desired, compared) => {
  const { from, to } = comparisonOf(new URLSearchParams(query), desired, bundles);
  expect(`${from} → ${to}`).toBe(compared);
});

it('an environment without bundles has no comparison', () => {
  expect(comparisonOf(new URLSearchParams(), null, [])).toEqual({ from: null, to: null });
});
