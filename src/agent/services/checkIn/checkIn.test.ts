import type { Host } from '../../../../machines/words.ts';
import type { Answer } from '../../../protocol/checkIn.ts';
import { emptyState, type State } from '../../rules/state/state.ts';
import { checkIn } from './checkIn.ts';
import { leftoversOf } from '../release/leftovers.ts';
import type { Tools } from '../tools.ts';

const never = new AbortController().signal;
const sha = 'a'.repeat(64);
const host: Host = { engine: true, healthy: true, halfMade: true, ailing: [], containers: [] };
const said: Answer = {
  ...{ action: 'none', env: 'eu-1', backendId: 'b-1', production: false },
  ...{ desiredSha: sha, sizeBytes: 0, purgeVolumes: false },
};

/** A host on which a failed attempt made a volume and a network; `says` are the answers to its check-ins. */
function toolsWith(...says: Partial<Answer>[]): Tools {
  const baseline = { sha, volumes: ['data'], networks: ['default'] };
  const state = { state: { ...emptyState('eu-1'), production_unknown: false, baseline } as State };
  const update = async (patch: Partial<State>) => void Object.assign(state.state, patch);
  return {
    settings: { env: 'eu-1', site: 'fra', production: false, interval_s: 60 },
    state: { ...state, update },
    tenancy: { checkIn: async () => ({ ...said, ...says.shift() }) },
    vault: { candidate: () => null },
    releases: { list: async () => [] },
    containers: {
      owned: async () => ({ volumes: ['data', 'made'], networks: ['default', 'made'] }),
      list: async () => [],
      holders: async () => [],
    },
    note: () => undefined,
    tick: { grantRefusal: null, journal: { info: () => undefined } },
  } as unknown as Tools;
}

describe('what a check-in says of production', () => {
  it('counts from then on for what a failed attempt made (spec §12.11)', async () => {
    const tools = toolsWith({ production: true }, {});
    for (let tick = 0; tick < 2; tick++) {
      await checkIn(tools, { host }, never);
      expect(await leftoversOf(tools, tools.state.state, false)).toEqual({ volumes: [], networks: ['made'] });
    }
  });

  it('says nothing of an env of which it is not known', async () => {
    const tools = toolsWith({});
    await tools.state.update({ production_unknown: true });
    expect(await checkIn(tools, { host }, never)).toMatchObject({ production: false });
    expect(tools.state.state).toMatchObject({ production: false, production_unknown: true });
    expect(await leftoversOf(tools, tools.state.state, false)).toMatchObject({ volumes: [] });
  });

  it('leaves what a failed attempt made to go where it never was production', async () => {
    const tools = toolsWith({});
    await checkIn(tools, { host }, never);
    expect(await leftoversOf(tools, tools.state.state, false)).toEqual({ volumes: ['made'], networks: ['made'] });
  });
});
