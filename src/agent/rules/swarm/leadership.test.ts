import { leaderInstead, membershipFault, noLeaderFault, type SwarmMembership } from './leadership.ts';

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
])('tells %s what to do, and acts nowhere', (_, difference, words) => {
  const fault = membershipFault({ ...manager, ...difference });
  expect(fault).toMatchObject({ ending: 'failed', code: 'RUNTIME_UNAVAILABLE' });
  expect(fault!.message).toContain(words);
});

it('finds nothing wrong with a manager that the swarm answers', () => {
  expect(membershipFault(manager)).toBeNull();
});

const nodes = [node('n1', 'one', {}), node('n2', 'two', { Leader: true }), node('n3', 'three')];

it('lets the leader act, and tells every other manager its name', () => {
  expect(leaderInstead({ NodeID: 'n2' }, nodes)).toBeNull();
  expect(leaderInstead({ NodeID: 'n1' }, nodes)).toBe('two');
});

it.each([
  [
    "rpc error: code = Unknown desc = The swarm does not have a leader. It's possible that too few managers are online.",
    true,
  ],
  ['rpc error: code = DeadlineExceeded desc = context deadline exceeded', true],
  ['Get "https://registry/v2/": context deadline exceeded', false],
  ['', false],
])('takes the answer %j for one of a swarm without a leader: %s', (answer, isOne) => {
  expect(noLeaderFault(answer)?.message ?? '').toMatch(isOne ? noLeader : /^$/);
});

it('lets none act while no node leads', () => {
  expect(() => leaderInstead({ NodeID: 'n1' }, [nodes[0]!, nodes[2]!])).toThrow(noLeader);
});
