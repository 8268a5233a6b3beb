import { checkSwarm, type SwarmCheckFacts } from './swarmCheck.ts';

const node = (ID: string, ManagerStatus?: { Leader?: boolean }) => ({
  ...{ ID, Description: { Hostname: `host-${ID}` } },
  ...(ManagerStatus && { ManagerStatus }),
});
const facts: SwarmCheckFacts = {
  membership: { NodeID: 'a', LocalNodeState: 'active', ControlAvailable: true, Error: '' },
  nodes: [node('a', {}), node('b', { Leader: true }), node('c')],
  dockerError: null,
};

it.each([
  ['b', 'host-b leads 3 nodes, of which 2 are managers'],
  ['a', 'this node leads 3 nodes, of which 2 are managers'],
])('tells who leads: %s', (leader, detail) => {
  const nodes = facts.nodes.map((each) => node(each.ID, each.ManagerStatus && { Leader: each.ID === leader }));
  expect(checkSwarm({ ...facts, nodes })).toMatchObject({ status: 'passed', detail });
});

it('tells a worker how to become a manager, and that docker is missing', () => {
  const membership = { ...facts.membership, ControlAvailable: false };
  const { status, findings } = checkSwarm({ membership, nodes: [], dockerError: 'it is not installed' });
  expect(status).toBe('failed');
  expect(findings.map(({ fix }) => fix)).toEqual([
    'run docker node promote a on a manager, or end the agent of this node',
    'sudo apt-get install docker-cli',
  ]);
});
