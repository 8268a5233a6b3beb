import { composeRangeOf, isInRange, type ComposeVersion } from './composeRange.ts';

it.each<[podman: string | null, compose: ComposeVersion, works: boolean]>([
  [null, [2, 19], false],
  [null, [1, 29], false],
  [null, [2, 20], true],
  [null, [2, 31], true],
  [null, [5, 6], true],
  ['4.3.1', [2, 19], false],
  ['4.3.1', [2, 20], true],
  ['4.3.1', [2, 30], true],
  ['4.3.1', [2, 31], false],
  ['4.9.5', [5, 6], false],
  ['5.3.2', [2, 31], false],
  ['5.4.0-rc1', [2, 31], true],
  ['5.4.2', [5, 6], true],
  ['6.0.0', [5, 6], true],
  ['6.0.0', [2, 19], false],
])('with Podman %s compose %j works: %s', (podman, compose, works) => {
  expect(isInRange(compose, composeRangeOf(podman))).toBe(works);
});

it('says what is needed', () => {
  expect(composeRangeOf('5.4.2').requirement).toBe('compose 2.20 or newer is needed');
  expect(composeRangeOf('4.3.1').requirement).toBe(
    'compose 2.20 to 2.30 is needed with Podman 4.3.1, or Podman 5.4 or newer',
  );
});
