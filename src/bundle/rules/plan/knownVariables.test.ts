import { knownVariables, withKnownVariables } from './knownVariables.ts';

const known = knownVariables({ sha: null, version: '3', variables: { A: '1', EMPTY: '' } });

it.each([
  ['x:$A', 'x:1'],
  ['x:${A}', 'x:1'],
  ['x:${A:-2}${A-2}${A?}${A:?no}', 'x:1111'],
  ['x:${A:-}', 'x:1'],
  ['x:${EMPTY}', 'x:'],
  ['x:$EMPTY', 'x:'],
  ['x:${EMPTY-2}', 'x:'],
  ['x:${EMPTY:-2}', 'x:${EMPTY:-2}'],
  ['x:${EMPTY:?no}', 'x:${EMPTY:?no}'],
  ['x:${A:+2}', 'x:${A:+2}'],
  ['x:${A:-$B}', 'x:${A:-$B}'],
  ['x:$NONE${NONE:-2}', 'x:$NONE${NONE:-2}'],
  ['x:$DEPLOYD_VERSION:$DEPLOYD_SHA', 'x:3:of a directory'],
  ['x:$A_B', 'x:$A_B'],
])('%s is %s', (image, expected) => {
  expect(withKnownVariables(image, known)).toBe(expected);
});

it('an archive is named by its digest', () => {
  expect(knownVariables({ sha: 'a1', version: '3', variables: {} }).get('DEPLOYD_SHA')).toBe('a1');
});
