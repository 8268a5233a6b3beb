import { defaultPolicy } from '../../../protocol/hostPolicy.ts';
import type { ProjectResources } from '../../rules/release/projectResources.ts';
import { emptyState, type State } from '../../rules/state/state.ts';
import { recordPendingPurge, retryPurge } from './pendingPurge.ts';
import type { Dependencies } from '../dependencies.ts';

const pending: ProjectResources = { volumes: ['data'], networks: ['default'] };
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

/** Dependencies of a host where the purge of `pending` is pending and possible; records removals and journal lines. */
function depsWith(since: string, changed: Partial<State> = {}) {
  const purge_pending = { ...pending, since };
  const state: State = { ...emptyState('eu-1'), production_unknown: false, purge_pending, ...changed };
  const existing = structuredClone(pending);
  const removed: ProjectResources[] = [];
  const lines: string[] = [];
  const warn = (line: string) => void lines.push(line);
  const deps = {
    settings: { production: false, policy: defaultPolicy },
    state: { state, update: async (patch: Partial<State>) => void Object.assign(state, patch) },
    releases: { list: async () => [] },
    containers: {
      resourceUsers: async () => [],
      ownedResources: async () => structuredClone(existing),
      removeOwnedResources: async (owned: ProjectResources) => {
        removed.push(owned);
        Object.assign(existing, { volumes: [], networks: [] });
      },
    },
    tick: { remarks: [], journal: { info: warn, warn } },
  };
  return { deps: deps as unknown as Dependencies, state, removed, lines };
}

it('removes pending resources once nothing uses them', async () => {
  const { deps, state, removed, lines } = depsWith(hoursAgo(23));
  await retryPurge(deps, null);
  expect(removed).toEqual([pending]);
  expect(lines).toEqual(['down: removed at last: volume data, network default']);
  expect(state.purge_pending).toBeNull();
});

it('tries a last time after a day, since a hold may have kept it from trying', async () => {
  const { deps, state, removed, lines } = depsWith(hoursAgo(25));
  await retryPurge(deps, null);
  expect(removed).toEqual([pending]);
  expect(lines).toEqual(['down: removed at last: volume data, network default']);
  expect(state.purge_pending).toBeNull();
});

it('gives up after a day what is still in use', async () => {
  const { deps, state, lines } = depsWith(hoursAgo(25));
  deps.containers.removeOwnedResources = async () => undefined;
  await retryPurge(deps, null);
  expect(lines).toEqual(['down: not removed within 24 h, so left to be removed by hand: volume data, network default']);
  expect(state.purge_pending).toBeNull();
});

it('removes nothing after a bundle was applied', async () => {
  const { deps, state, removed, lines } = depsWith(hoursAgo(2), { applied_at: hoursAgo(1) });
  await retryPurge(deps, null);
  expect(removed).toEqual([]);
  expect(lines).toEqual(['down: not removed any more, as a bundle is applied: volume data, network default']);
  expect(state.purge_pending).toBeNull();
});

it('keeps the deadline of a pending purge at another down', async () => {
  const since = hoursAgo(20);
  const { deps, state } = depsWith(since, { applied_at: hoursAgo(30) });
  await recordPendingPurge(deps, true);
  expect(state.purge_pending).toEqual({ ...pending, since });
});

it('records the networks alone where the volumes are to stay', async () => {
  const { deps, state, lines } = depsWith(hoursAgo(1), { purge_pending: null });
  await recordPendingPurge(deps, false);
  expect(state.purge_pending).toMatchObject({ volumes: [], networks: ['default'] });
  expect(lines).toEqual([
    'down: in use outside the project, so not removed yet: network default; tried again for 24 h',
  ]);
});
