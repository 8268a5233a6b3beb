import { isAccepted, type AgentCall } from './agentAccess.ts';

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
  const backend = { state, ...token };
  expect(calls.filter((call) => isAccepted({ backend, token }, call))).toEqual(accepted);
});

it.each([
  ['an older generation', { generation: 3, env: 'eu-1' }],
  ['a newer generation', { generation: 1, env: 'eu-1' }],
  ['another env', { generation: 2, env: 'us-1' }],
])('no call is accepted with a token of %s', (_what, row) => {
  expect(calls.filter((call) => isAccepted({ backend: { state: 'active', ...row }, token }, call))).toEqual([]);
});
