import { countByState, countPresent } from './backends.rules.ts';

it('counts a fleet by state over its envs, without those that are retired', () => {
  const counts = countByState([{ backends: { active: 2, retired: 5 } }, { backends: { active: 1, offline: 1 } }]);
  expect([counts, countPresent(counts)]).toEqual([{ active: 3, offline: 1, retired: 5 }, 4]);
});
