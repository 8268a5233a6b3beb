import { countByState, countPresent, hostName, hostsThat } from './backends.rules.ts';

it('counts a fleet by state over its envs, without those that are retired', () => {
  const counts = countByState([{ backends: { active: 2, retired: 5 } }, { backends: { active: 1, offline: 1 } }]);
  expect([counts, countPresent(counts)]).toEqual([{ active: 3, offline: 1, retired: 5 }, 4]);
});

it('names a host by its name, and by its site before it has one', () => {
  expect([hostName({ host_name: 'web-3', site: 'fra' }), hostName({ host_name: null, site: 'fra' })]).toEqual([
    'web-3',
    'fra',
  ]);
});

it.each([
  [0, '0 hosts wait'],
  [1, '1 host waits'],
  [2, '2 hosts wait'],
])('says what %i hosts do', (count, text) => expect(hostsThat(count, 'waits', 'wait')).toBe(text));
