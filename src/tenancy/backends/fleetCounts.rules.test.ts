import type { BackendGroup, EnvRow, RolloutRow } from '../store/database.ts';
import { countFleet } from './fleetCounts.rules.ts';

const [wanted, old] = ['a'.repeat(64), 'b'.repeat(64)];
const group = (changes: Partial<BackendGroup>) =>
  ({
    env: 'eu',
    state: 'active',
    applied_sha: wanted,
    agent_version: '0.2.0',
    healthy: 1,
    trouble: null,
    backends: 1,
    ...changes,
  }) as BackendGroup;
const env = (changes: Partial<EnvRow>) =>
  ({ name: 'eu', production: 0, desired_sha: wanted, rollout_id: null, ...changes }) as EnvRow;
const rollouts = ['r-0', 'r-1'].map((id) => ({ id, state: 'soaking' }) as RolloutRow);
const count = (groups: BackendGroup[], envs = [env({})]) =>
  countFleet(groups, {
    envs,
    rollouts,
    of: ({ env: name }) => envs.find((each) => each.name === name)?.desired_sha ?? null,
  });

it('counts the backends of each env by state', () => {
  const groups = [group({ backends: 2 }), group({ state: 'created', backends: 3 }), group({ env: 'us', backends: 5 })];
  expect(
    count([...groups, group({ backends: 7 })], [env({}), env({ name: 'us', production: 1 }), env({ name: 'no' })]).envs,
  ).toMatchObject([
    { name: 'eu', production: false, desired_sha: wanted, backends: { active: 9, created: 3 } },
    { name: 'us', production: true, backends: { active: 5 } },
    { name: 'no', backends: {} },
  ]);
});

it.each<[string, Partial<BackendGroup>, number, number]>([
  ['runs what is desired', {}, 0, 0],
  ['runs another bundle', { applied_sha: old }, 1, 0],
  ['runs none', { applied_sha: null }, 1, 0],
  ['is unhealthy', { healthy: 0 }, 0, 1],
  ['tells nothing of its health', { healthy: null }, 0, 0],
  ['is in trouble', { trouble: 'failed a' }, 0, 1],
  ['is no host yet', { state: 'created', applied_sha: old, healthy: 0 }, 0, 0],
])('a backend that %s is behind or sick', (_what, changes, behind, sick) => {
  expect(count([group({ ...changes, backends: 3 })]).envs).toMatchObject([{ behind: 3 * behind, sick: 3 * sick }]);
});

it('counts hosts by what defers their work', () => {
  const groups = (['hold', 'window', null] as const).map((deferred_by) => group({ deferred_by, backends: 2 }));
  const { envs } = count([...groups, group({ deferred_by: 'hold' }), group({ state: 'retired', deferred_by: 'hold' })]);
  expect(envs).toMatchObject([{ deferred: { hold: 3, window: 2 } }]);
});

it('counts nothing in an env without backends', () => {
  expect(count([])).toEqual({
    envs: [
      {
        ...{ name: 'eu', production: false, desired_sha: wanted, rollout: null },
        ...{ backends: {}, behind: 0, sick: 0, deferred: {} },
      },
    ],
    agents: [],
  });
});

it('is behind nothing where nothing is desired', () => {
  expect(count([group({ applied_sha: old })], [env({ desired_sha: null })]).envs).toMatchObject([{ behind: 0 }]);
});

it('names the rollout of an env', () => {
  const { envs } = count([], [env({ rollout_id: 'r-1' }), env({})]);
  expect(envs.map(({ rollout }) => rollout)).toEqual([{ id: 'r-1', state: 'soaking' }, null]);
});

it('counts hosts by the version of their agent, the newest first', () => {
  const versions = ['0.2.0', '0.10.0', '0.9.0', '0.10.0'].map((agent_version) => group({ agent_version, backends: 2 }));
  expect(count([...versions, group({ state: 'created', agent_version: '9' })]).agents).toEqual([
    { version: '0.10.0', hosts: 4 },
    { version: '0.9.0', hosts: 2 },
    { version: '0.2.0', hosts: 2 },
  ]);
});
