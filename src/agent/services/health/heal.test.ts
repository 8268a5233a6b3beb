import { noEvents, runningContainer } from '../../../../fixtures/engine/stubContainer.ts';
import { createHash } from 'node:crypto';
import { plainOutcome } from '../../../../machines/outcomes.ts';
import type { ObservedState, DesiredState } from '../../../../machines/types.ts';
import type { InspectedContainer } from '../../rules/health/health.ts';
import { renderEnvFile } from '../../rules/bundle/envFile.ts';
import { emptyState, type State } from '../../rules/state/state.ts';
import { recordOutcome } from '../tick/recordOutcome.ts';
import { heal, healDespite } from './heal.ts';
import type { Dependencies } from '../dependencies.ts';
import { createComposeOrchestrator } from '../compose/composeOrchestrator.ts';
import { composeUpNow } from '../tickScope.ts';

const never = new AbortController().signal;
const [applied, other] = ['a'.repeat(64), 'b'.repeat(64)] as const;
const at = '2026-01-01T00:00:00.000Z';
const web: InspectedContainer = { ...runningContainer, id: '1', name: 'web-1', health: 'healthy' };
const noResources = { containers: [], isPodman: false, volumes: [], networks: [] };
const noPrivileges = { schema: 1, services: {}, networks: {}, volumes: {} };
const inventory = {
  ...{ schema: 1, sha: applied, files: [], directories: [], reached: [], writable: [], repairs: [] },
  override: createHash('sha256').digest('hex'),
};
const interrupted: ObservedState = {
  engineAvailable: true,
  healthy: false,
  leader: null,
  swarm: null,
  attemptInProgress: true,
  unhealthyServices: [],
  problems: [],
  containers: [],
};
const desired: DesiredState = {
  action: 'none',
  desiredSha: applied,
  appliedSha: applied,
  sizeBytes: 0,
  production: false,
  purgeVolumes: false,
  reason: '',
  retryDelay: null,
  emergency: false,
  deferral: null,
};

/** Dependencies of a host where `applied` is applied, and the operations that they recorded. */
function depsWith(settings: object, changed: Partial<State>) {
  const operations: string[] = [];
  const state = { state: { ...emptyState('eu-1'), applied_sha: applied, ...changed } };
  const update = async (patch: Partial<State>) => {
    Object.assign(state.state, patch);
    operations.push(`wrote ${Object.keys(patch).sort().join(' ')}`);
  };
  const record = { services: [{ name: 'web', replicas: 1 }], compose: [], images: [] };
  const parts = {
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
      readGrantedPrivileges: async () => noPrivileges,
      readInventory: async () => inventory,
      readOverride: async () => '',
      exists: async () => true,
      restoreBackup: async () => undefined,
      pathOf: () => '/nowhere',
      list: async () => [],
      writeRecord: async () => undefined,
      current: { set: async (sha: string) => void operations.push(`current ${sha[0]}`) },
    },
    compose: { create: async () => void operations.push('create'), up: async () => void operations.push('up') },
    containers: {
      list: async () => [web],
      subscribeToEvents: async () => noEvents,
      inspectProject: async () => noResources,
      networks: async () => [],
    },
    recordDecision: () => undefined,
    tick: {
      ...{
        id: 'tick',
        hold: null,
        startedAt: new Date(),
        durationsMs: {},
        remarks: [],
        healthyContainers: null,
        lastComposeUp: composeUpNow([]),
        heartbeat: null,
      },
      journal: { info: () => undefined, warn: () => undefined, error: () => undefined },
    },
  };
  const deps: Dependencies = Object.assign(parts as unknown as Dependencies, {
    orchestrator: createComposeOrchestrator(() => deps),
  });
  return { deps, state: state.state, operations };
}

describe('an interrupted attempt that is no longer desired', () => {
  it.each([
    ['starting', other],
    ['reverting', other],
    ['left', other],
    ['starting', applied],
    ['unknown', applied],
  ])('is reverted or finished although healing is off: %s %s', async (phase, sha) => {
    const { deps, state, operations } = depsWith({}, { attempt: { sha, phase, at } });
    expect(await heal(deps, { observed: interrupted, desired }, never)).toMatchObject({
      ending: 'converged',
      reason: 'healed:web',
    });
    expect(operations).toEqual(['current a', 'create', 'up', 'wrote attempt baseline']);
    expect(state.attempt).toBeNull();
  });

  it('is reverted without a container change when it changed none', async () => {
    const { deps, operations } = depsWith({}, { attempt: { sha: other, phase: 'promoted', at } });
    expect(await heal(deps, { observed: interrupted, desired }, never)).toMatchObject({
      ending: 'converged',
      reason: '',
    });
    expect(operations).toEqual(['current a', 'wrote attempt baseline']);
  });

  it('does not heal a service that was unhealthy before', async () => {
    const { deps, operations } = depsWith({}, { attempt: { sha: other, phase: 'promoted', at } });
    const problems = [{ service: 'web', detail: 'missing', cure: 'start' as const, containers: [], isFailure: true }];
    const observed = { ...interrupted, unhealthyServices: ['web'], problems };
    expect(await heal(deps, { observed, desired }, never)).toMatchObject({
      ending: 'unhealthy',
      lines: ['unhealthy: web=missing'],
    });
    expect(operations).toEqual(['current a', 'wrote attempt baseline']);
  });

  it('is over when its release is healthy by now, although it was left for diagnosis', async () => {
    const { deps, operations } = depsWith({ on_failure: 'leave' }, { attempt: { sha: applied, phase: 'left', at } });
    expect(await heal(deps, { observed: interrupted, desired }, never)).toMatchObject({ ending: 'converged' });
    expect(operations).toEqual(['wrote attempt baseline']);
  });

  it('stays when it was left for diagnosis and is still desired', async () => {
    const retryDelay = { line: 'failed: x; retry in 9s', retryInS: 9 };
    const { deps, operations } = depsWith({ on_failure: 'leave' }, { attempt: { sha: other, phase: 'left', at } });
    const wanted: DesiredState = { ...desired, action: 'apply', desiredSha: other, retryDelay };
    expect(await heal(deps, { observed: interrupted, desired: wanted }, never)).toMatchObject({ ending: 'paused' });
    expect(operations).toEqual([]);
  });
});

it('names the services that it started when none was unhealthy', async () => {
  const { deps } = depsWith({ heal: true }, { attempt: { sha: other, phase: 'starting', at } });
  expect(await heal(deps, { observed: interrupted, desired }, never)).toMatchObject({ reason: 'healed:web' });
});

describe('a host that stays unhealthy after a failed check-in', () => {
  const problems = [{ service: 'web', detail: 'missing', cure: 'start' as const, containers: [], isFailure: true }];
  const observed: ObservedState = { ...interrupted, attemptInProgress: false, unhealthyServices: ['web'], problems };
  const outcome = { ...plainOutcome('offline'), lines: ['temporary network failure: away'] };

  it('keeps the outcome of the tick, and reports each trouble once when it is online again', async () => {
    const { deps, state } = depsWith({}, {});
    const tick = () => healDespite(deps, { observed, desired: null, outcome }, never);
    expect([await tick(), await tick()]).toEqual([outcome, outcome]);
    expect(state.pending_reports).toMatchObject([
      { outcome: 'unhealthy', code: 'UNHEALTHY', detail: 'unhealthy: web=missing', action: 'none' },
    ]);
  });

  it('is told with the outcome that the tick reports', async () => {
    const { deps, state } = depsWith({}, {});
    const refused = { ...plainOutcome('refused'), lines: ['refused: x'] };
    const wanted: DesiredState = { ...desired, action: 'apply', desiredSha: other };
    expect(await healDespite(deps, { observed, desired: wanted, outcome: refused }, never)).toEqual(refused);
    expect(deps.tick.remarks).toEqual(['unhealthy: web=missing']);
    expect(state.pending_reports).toEqual([]);
  });
});

describe('a recorded failure', () => {
  const failing = { sha: applied, count: 1, retry_at: at, line: 'failed: x' };
  const observed: ObservedState = { ...interrupted, healthy: true, attemptInProgress: false };
  const result = { intent: 'tick' as const, outcome: plainOutcome('converged'), desired, observed };

  it('is cleared by a tick that finds its release healthy, in the same write', async () => {
    const { deps, state, operations } = depsWith({}, { failing });
    await recordOutcome(deps, result);
    expect(state.failing).toBeNull();
    expect(operations).toEqual(['wrote failing last_outcome']);
  });

  it('of another bundle is kept', async () => {
    const { deps, state } = depsWith({}, { failing: { ...failing, sha: other } });
    await recordOutcome(deps, result);
    expect(state.failing).toMatchObject({ sha: other });
  });
});
