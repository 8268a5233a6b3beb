import { isShared, rowsOf } from './backends.rules.ts';

const host = (id: string, swarm: string | null = null, { leader = false, env = 'eu-1' } = {}) => ({
  id,
  env,
  swarm: swarm === null ? null : { id: swarm, node: id, leader },
});

it('the managers of a swarm stand together below their leader, and all others as they were', () => {
  const hosts = [
    host('a'),
    host('b', 's1'),
    host('c', 's2'),
    host('d', 's1', { leader: true }),
    host('e', 's1', { env: 'us-1' }),
    host('f', 's2'),
    host('g'),
  ];
  const rows = rowsOf(hosts).map(({ host: { id }, isNested }) => (isNested ? `- ${id}` : id));
  expect(rows).toEqual(['a', 'd', '- b', 'c', '- f', 'e', 'g']);
});

it.each<[boolean, Parameters<typeof isShared>[0]['managers'][number]['state'][]]>([
  [false, []],
  [false, ['retiring', 'retiring']],
  [true, ['retiring', 'offline']],
])('what a host runs is shared (%s) where the other managers are %j', (shared, states) => {
  expect(
    isShared({ managers: states.map((state) => ({ id: state, host_name: null, site: 'fra', state, leader: false })) }),
  ).toBe(shared);
});
