import { signatureStateOf } from './bundle.rules.ts';

it.each([
  [[], null, 'not required'],
  [['ann'], null, 'not required'],
  [[], 1, 'awaiting signature'],
  [['ann'], 2, 'awaiting signature'],
  [['ann'], 1, 'signed'],
  [['ann', 'bob', 'eve'], 2, 'signed'],
])('signed by %j where %j must have: %s', (signers, threshold, state) => {
  expect(signatureStateOf(signers, threshold)).toBe(state);
});
