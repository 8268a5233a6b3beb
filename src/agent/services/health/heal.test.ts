import { noEvents, running } from '../../../../fixtures/inspected.ts';
import { createHash } from 'node:crypto';
import { plain } from '../../../../machines/outcomes.ts';
import type { Host, Orders } from '../../../../machines/words.ts';
import type { Inspected } from '../../rules/health/health.ts';
import { renderEnvFile } from '../../rules/bundle/envFile.ts';
import { emptyState, type State } from '../../rules/state/state.ts';
import { conclude } from '../tick/conclude.ts';
import { heal } from './heal.ts';
import { broughtUpNow, type Tools } from '../tools.ts';

const never = new AbortController().signal;
const [applied, other] = ['a'.repeat(64), 'b'.repeat(64)] as const;
const at = '2026-01-01T00:00:00.000Z';
const web: Inspected = { ...running, id: '1', name: 'web-1', health: 'healthy' };
const nothingMade = { containers: [], isPodman: false, volumes: [], networks: [] };
const nothingGranted = { schema: 1, services: {}, networks: {}, volumes: {} };
const inventory = {
  ...{ schema: 1, sha: applied, files: [], directories: [], reached: [], writable: [], repairs: [] },
  override: createHash('sha256').digest('hex'),
};
const halfMade: Host = { engine: true, healthy: false, halfMade: true, ailing: [], containers: [] };
const orders: Orders = {
  action: 'none',
  desiredSha: applied,
  appliedSha: applied,
  sizeBytes: 0,
  production: false,
  purgeVolumes: false,
  reason: '',
  pause: null,
};

/** Tools on a host where `applied` is applied, and what was done with them. */
function toolsWith(settings: object, changed: Partial<State>) {
  const done: string[] = [];
  const state = { state: { ...emptyState('eu-1'), applied_sha: applied, ...changed } };
  const update = async (patch: Partial<State>) => {
    Object.assign(state.state, patch);
    done.push(`wrote ${Object.keys(patch).sort().join(' ')}`);
  };
  const record = { services: [{ name: 'web', replicas: 1 }], compose: [], images: [] };
  const tools = {
    settings: {
      env: 'eu-1',
      site: 'fra',
      heal: false,
      on_failure: 'revert',
      health_timeout_s: 5,
      settle_s: 0,
      ...settings,
    },
    version: '0.2.0',
    state: { ...state, update },
    releases: {
      readRecord: async () => record,
      readEnv: async () => renderEnvFile(new Map()),
      readGranted: async () => nothingGranted,
      readInventory: async () => inventory,
      readOverride: async () => '',
      restoreLastGood: async () => undefined,
      pathOf: () => '/nowhere',
      list: async () => [],
      current: { set: async (sha: string) => void done.push(`current ${sha[0]}`) },
    },
    compose: { create: async () => void done.push('create'), up: async () => void done.push('up') },
    containers: { list: async () => [web], events: async () => noEvents, made: async () => nothingMade },
    note: () => undefined,
    tick: {
      ...{
        id: 'tick',
        startedAt: new Date(),
        durations: {},
        remarks: [],
        well: null,
        broughtUp: broughtUpNow([]),
        heartbeat: null,
      },
      journal: { info: () => undefined, warn: () => undefined },
    },
  };
  return { tools: tools as unknown as Tools, state: state.state, done };
}

describe('an attempt that was cut short and is not wanted any more', () => {
  it.each([
    ['starting', other],
    ['reverting', other],
    ['left', other],
    ['starting', applied],
    ['unknown', applied],
  ])('is undone or finished, though nothing is to be healed: %s %s', async (phase, sha) => {
    const { tools, state, done } = toolsWith({}, { attempt: { sha, phase, at } });
    expect(await heal(tools, { host: halfMade, orders }, never)).toMatchObject({
      ending: 'converged',
      reason: 'healed:web',
    });
    expect(done).toEqual(['current a', 'create', 'up', 'wrote attempt baseline']);
    expect(state.attempt).toBeNull();
  });

  it('touches no container where it touched none', async () => {
    const { tools, done } = toolsWith({}, { attempt: { sha: other, phase: 'promoted', at } });
    expect(await heal(tools, { host: halfMade, orders }, never)).toMatchObject({ ending: 'converged', reason: '' });
    expect(done).toEqual(['current a', 'wrote attempt baseline']);
  });

  it('leaves a service alone that was not well before it', async () => {
    const { tools, done } = toolsWith({}, { attempt: { sha: other, phase: 'promoted', at } });
    const host = { ...halfMade, ailing: ['web'] };
    expect(await heal(tools, { host, orders }, never)).toMatchObject({
      ending: 'unhealthy',
      lines: ['unhealthy: web'],
    });
    expect(done).toEqual(['current a', 'wrote attempt baseline']);
  });

  it('is over where it was left for diagnosis, is still wanted, and all is well by now', async () => {
    const { tools, done } = toolsWith({ on_failure: 'leave' }, { attempt: { sha: applied, phase: 'left', at } });
    expect(await heal(tools, { host: halfMade, orders }, never)).toMatchObject({ ending: 'converged' });
    expect(done).toEqual(['wrote attempt baseline']);
  });

  it('stays where it was left for diagnosis and is still wanted', async () => {
    const pause = { line: 'failed: x; retry in 9s', retryInS: 9 };
    const { tools, done } = toolsWith({ on_failure: 'leave' }, { attempt: { sha: other, phase: 'left', at } });
    const wanted: Orders = { ...orders, action: 'apply', desiredSha: other, pause };
    expect(await heal(tools, { host: halfMade, orders: wanted }, never)).toMatchObject({ ending: 'paused' });
    expect(done).toEqual([]);
  });
});

it('names what was brought up again where nothing was ill', async () => {
  const { tools } = toolsWith({ heal: true }, { attempt: { sha: other, phase: 'starting', at } });
  expect(await heal(tools, { host: halfMade, orders }, never)).toMatchObject({ reason: 'healed:web' });
});

describe('a failure that a tick proves wrong', () => {
  const failing = { sha: applied, count: 1, retry_at: at, line: 'failed: x' };
  const host: Host = { ...halfMade, healthy: true, halfMade: false };
  const concluded = { outcome: plain('converged'), orders, host };

  it('is forgotten in the same write', async () => {
    const { tools, state, done } = toolsWith({}, { failing });
    await conclude(tools, concluded);
    expect(state.failing).toBeNull();
    expect(done).toEqual(['wrote failing last_outcome']);
  });

  it('is not that of another bundle', async () => {
    const { tools, state } = toolsWith({}, { failing: { ...failing, sha: other } });
    await conclude(tools, concluded);
    expect(state.failing).toMatchObject({ sha: other });
  });
});
