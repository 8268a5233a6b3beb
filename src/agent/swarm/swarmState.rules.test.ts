import {
  emptySwarmState,
  leaderInstead,
  membershipFault,
  parseSwarmState,
  type SwarmMembership,
  type SwarmState,
} from './swarmState.rules.ts';

const sha = 'a'.repeat(64);
const at = '2026-11-27T01:00:00.000Z';
const empty = emptySwarmState('eu-1');
const facts = {
  ...empty.facts,
  ...{ applied_sha: sha, applied_at: at, applied_version: '1', highest_sequence: 7, production: true },
  ...{
    attempt: { sha, phase: 'starting', at },
    failing: { sha, count: 1, retry_at: at, line: 'failed: UNHEALTHY: web' },
  },
};
const record: SwarmState['record'] = {
  ...{ schema: 1, sha, version: '1', sequence: 7, production: true },
  ...{ services: [{ name: 'web', replicas: 2 }], images: [], compose: ['compose.yaml'] },
};
const full: SwarmState = { facts, node: 'abc', record };

it.each([empty, full])('reads the written state: %j', (state) => {
  expect(parseSwarmState(JSON.stringify(state), 'eu-1')).toEqual(state);
});

it.each([
  '',
  '[]',
  '{}',
  'null',
  JSON.stringify({ ...full, facts: undefined }),
  JSON.stringify({ ...full, node: undefined }),
  JSON.stringify({ ...full, record: undefined }),
  JSON.stringify({ ...full, record: {} }),
  JSON.stringify({ ...full, facts: { ...facts, highest_sequence: -1 } }),
  JSON.stringify({ ...full, facts: { ...facts, applied_sha: 'x' } }),
  JSON.stringify({ ...full, facts: { ...facts, attempt: { sha, phase: 'starting', at: 'never' } } }),
])('rejects an invalid state: %s', (text) => {
  expect(parseSwarmState(text, 'eu-1')).toBeNull();
});

const manager: SwarmMembership = { NodeID: 'n1', LocalNodeState: 'active', ControlAvailable: true, Error: '' };
const node = (ID: string, Hostname: string, ManagerStatus?: { Leader?: boolean }) => ({
  ID,
  Description: { Hostname },
  ...(ManagerStatus && { ManagerStatus }),
});

const noLeader = 'RUNTIME_UNAVAILABLE: the swarm has no leader; start managers until more than half of them answer';

it.each([
  ['an engine in no swarm', { LocalNodeState: 'inactive', ControlAvailable: false }, 'docker swarm join'],
  ['a locked manager', { LocalNodeState: 'locked', ControlAvailable: false }, '(locked)'],
  ['a worker', { ControlAvailable: false }, 'run docker node promote n1 on a manager'],
  ['a manager without a quorum', { Error: 'rpc error: The swarm does not have a leader.' }, noLeader],
])('describes the fix for %s, and does not act', (_, difference, words) => {
  const fault = membershipFault({ ...manager, ...difference });
  expect(fault).toMatchObject({ ending: 'failed', code: 'RUNTIME_UNAVAILABLE' });
  expect(fault!.message).toContain(words);
});

it('finds no problem with a manager that reaches the swarm', () => {
  expect(membershipFault(manager)).toBeNull();
});

const nodes = [node('n1', 'one', {}), node('n2', 'two', { Leader: true }), node('n3', 'three')];

it("lets the leader act, and reports the leader's name on every other manager", () => {
  expect(leaderInstead({ NodeID: 'n2' }, nodes)).toBeNull();
  expect(leaderInstead({ NodeID: 'n1' }, nodes)).toBe('two');
});

it('lets no manager act while there is no leader', () => {
  expect(() => leaderInstead({ NodeID: 'n1' }, [nodes[0]!, nodes[2]!])).toThrow(noLeader);
});
