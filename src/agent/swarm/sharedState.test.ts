import { emptyState, type State } from '../state/state.rules.ts';
import { resetSharedSequence } from './sharedState.ts';
import { emptySwarmState, type SwarmMembership } from './swarmState.rules.ts';

const manager: SwarmMembership = {
  ...{ NodeID: 'n1', Cluster: { ID: 'c1' }, LocalNodeState: 'active', ControlAvailable: true, Error: '' },
};
const own: State = { ...emptyState('eu-1'), highest_sequence: 4, production: true, production_unknown: false };

/** Sets the sequence 7 on a manager whose swarm has this sequence; null for a swarm without state. */
async function reset(shared: number | null, { isKept = false, isFirst = true, membership = manager } = {}) {
  const state = emptySwarmState('eu-1');
  const facts = { ...state.facts, highest_sequence: shared ?? 0, highest_sha: 'a'.repeat(64) };
  const seen = { name: '', id: '', version: 1, labels: {}, data: Buffer.alloc(0) };
  const found = shared === null ? { seen: null, state } : { seen, state: { ...state, facts } };
  const written: unknown[] = [];
  const swarm = {
    facts: {
      readState: async () => found as never,
      writeState: async (_seen: unknown, next: unknown) => (written.push(next), isFirst),
    },
    membership: async () => membership,
  };
  const previous = await resetSharedSequence(swarm, { sequence: 7, state: own, isKept: () => isKept });
  return { previous, written };
}

const written = (more: object): object[] => [
  expect.objectContaining({ facts: expect.objectContaining(more) as object }) as object,
];

it.each<[string, Parameters<typeof reset>, number, object[]]>([
  ['replaces the sequence of all managers', [9], 9, written({ highest_sequence: 7, highest_sha: null })],
  ['keeps it on request', [9, { isKept: true }], 9, []],
  [
    'starts a swarm without a state, as its host is',
    [null],
    4,
    written({ highest_sequence: 7, highest_sha: null, production: true }),
  ],
  ['leaves an engine outside a swarm alone', [9, { membership: { ...manager, LocalNodeState: 'inactive' } }], 4, []],
])('a set sequence %s', async (_title, given, previous, states) => {
  expect(await reset(...given)).toEqual({ previous, written: states });
});

it.each([
  ['another manager wrote at the same time', { isFirst: false }, 'interrupted'],
  ['this node is no manager', { membership: { ...manager, ControlAvailable: false } }, 'failed'],
])('fails if %s', async (_title, given, ending) => {
  await expect(reset(9, given)).rejects.toMatchObject({ ending });
});
