import type { Owned } from '../../rules/release/owned.ts';
import { emptyState, type State } from '../../rules/state/state.ts';
import { noteRemaining, purgeAgain } from './purge.ts';
import type { Tools } from '../tools.ts';

const left: Owned = { volumes: ['data'], networks: ['default'] };
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

/** Tools on a host where `left` is pending and free by now, what was removed, and the lines told. */
function toolsWith(since: string, changed: Partial<State> = {}) {
  const purge_pending = { ...left, since };
  const state: State = { ...emptyState('eu-1'), production_unknown: false, purge_pending, ...changed };
  const here = structuredClone(left);
  const removed: Owned[] = [];
  const lines: string[] = [];
  const tell = (line: string) => void lines.push(line);
  const tools = {
    settings: { production: false },
    state: { state, update: async (patch: Partial<State>) => void Object.assign(state, patch) },
    releases: { list: async () => [] },
    containers: {
      holders: async () => [],
      owned: async () => structuredClone(here),
      removeOwned: async (owned: Owned) => {
        removed.push(owned);
        Object.assign(here, { volumes: [], networks: [] });
      },
    },
    tick: { remarks: [], journal: { info: tell, warn: tell } },
  };
  return { tools: tools as unknown as Tools, state, removed, lines };
}

it('removes what is pending once it is free', async () => {
  const { tools, state, removed, lines } = toolsWith(hoursAgo(23));
  await purgeAgain(tools, null);
  expect(removed).toEqual([left]);
  expect(lines).toEqual(['down: removed at last: volume data, network default']);
  expect(state.purge_pending).toBeNull();
});

it.each([
  ['a day has passed', hoursAgo(25), {}, 'not removed within 24 h, so left to be removed by hand'],
  [
    'a bundle was applied since',
    hoursAgo(2),
    { applied_at: hoursAgo(1) },
    'not removed any more, as a bundle is applied',
  ],
])('removes nothing any more after %s', async (_, since, changed, why) => {
  const { tools, state, removed, lines } = toolsWith(since, changed);
  await purgeAgain(tools, null);
  expect(removed).toEqual([]);
  expect(lines).toEqual([`down: ${why}: volume data, network default`]);
  expect(state.purge_pending).toBeNull();
});

it('gives what was pending before no more time by another down', async () => {
  const since = hoursAgo(20);
  const { tools, state } = toolsWith(since, { applied_at: hoursAgo(30) });
  await noteRemaining(tools, true);
  expect(state.purge_pending).toEqual({ ...left, since });
});
