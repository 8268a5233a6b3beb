import { type AgentCall, isAccepted } from './agent.rules.ts';

const calls: AgentCall[] = ['check-in', 'bundle', 'lease', 'report'];
const token = { generation: 2, env: 'eu-1' };

it.each([
  ['created', []],
  ['invited', calls],
  ['active', calls],
  ['offline', calls],
  ['retiring', calls],
  ['finishing', ['report']],
  ['retired', []],
] as const)('a backend that is %s may make the calls %j', (state, accepted) => {
  const backend = { state, ...token, oldest_generation: 2 };
  expect(calls.filter((call) => isAccepted({ backend, token }, call))).toEqual(accepted);
});

it.each([
  ['an older generation', { generation: 3, oldest_generation: 3 }],
  ['a newer generation', { generation: 1, oldest_generation: 1 }],
  ['another env', { env: 'us-1' }],
])('no call is accepted with a token of %s', (_what, row) => {
  const backend = { state: 'active', ...token, oldest_generation: 2, ...row } as const;
  expect(calls.filter((call) => isAccepted({ backend, token }, call))).toEqual([]);
});

it('all generations are accepted that a restored backend may have given', () => {
  const backend = { state: 'active', env: 'eu-1', oldest_generation: 2, generation: 4 } as const;
  const accepted = [1, 2, 3, 4, 5].filter((generation) =>
    isAccepted({ backend, token: { ...token, generation } }, 'lease'),
  );
  expect(accepted).toEqual([2, 3, 4]);
});
