import { desiredShaOf } from './rollout.rules.ts';

it.each([
  ['is not in a wave', null, 'old', 'old'],
  ['is in a wave', 'updating', 'old', 'new'],
  ['is in a wave that soaks', 'soaking', 'new', 'new'],
  ['has not applied the bundle of a halted rollout', 'halted', 'old', 'old'],
  ['has applied the bundle of a halted rollout', 'halted', 'new', 'new'],
] as const)('a host that %s: desired is', (_, state, appliedSha, desired) => {
  const joined = state === null ? null : { sha256: 'new', state };
  expect(desiredShaOf({ envSha: 'old', joined, appliedSha })).toBe(desired);
});
