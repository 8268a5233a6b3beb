import { runningContainer } from '../../../fixtures/world/engine/stubContainer.ts';
import {
  type InspectedContainer,
  type ListedContainer,
  type ObservedContainer,
  parseHealth,
} from '../engine/container.rules.ts';
import { isFinished } from '../release/services.rules.ts';
import {
  compareContainers,
  deadNamespaces,
  findCrashLoop,
  hasCrashed,
  healthStatusOf,
  lastObservedMs,
  mayHaveCrashed,
  reportedContainerOf,
  RestartCounts,
} from './health.rules.ts';

describe('the health of a container (spec §12.4)', () => {
  it.each([
    ['healthy by its healthcheck', { health: 'healthy' }, false, 'healthy'],
    ['starting', { health: 'starting' }, true, 'pending'],
    ['unhealthy', { health: 'unhealthy' }, true, 'pending'],
    ['running without a healthcheck, not settled', {}, false, 'pending'],
    ['running without a healthcheck, settled', {}, true, 'healthy'],
    ['a finished one-shot', { state: 'exited' }, false, 'healthy'],
    ['a one-shot that failed', { state: 'exited', exitCode: 3 }, false, 'failed'],
    ['exited, to be restarted', { state: 'exited', restartPolicy: 'always' }, true, 'pending'],
    ['restarting', { state: 'restarting', restartPolicy: 'always', exitCode: 1 }, true, 'pending'],
    ['created only', { state: 'created' }, true, 'pending'],
    ['dead', { state: 'dead' }, true, 'failed'],
  ])('%s', (_, change, settled, expected) => {
    expect(healthStatusOf({ ...runningContainer, ...change }, settled)).toBe(expected);
  });

  it.each([
    ['stopped', { health: 'unhealthy' }, 'failed'],
    ['stopped before its first probe', { health: 'starting' }, 'failed'],
    ['stopped while it was healthy', { health: 'healthy' }, 'failed'],
    ['stopped, to be restarted on failure', { health: 'unhealthy', restartPolicy: 'on-failure' }, 'failed'],
  ])('is never finished with a healthcheck: %s', (_, change, expected) => {
    expect(healthStatusOf({ ...runningContainer, state: 'exited', ...change }, true)).toBe(expected);
  });

  it('is finished with restart on failure after a success', () => {
    const job = { ...runningContainer, state: 'exited', restartPolicy: 'on-failure' };
    expect(healthStatusOf(job, true)).toBe('healthy');
    expect(healthStatusOf({ ...job, exitCode: 3 }, true)).toBe('failed');
  });

  it.each([undefined, 'none', ''])('is null for the health status %p', (status) => {
    expect(parseHealth(status)).toBeNull();
    expect(parseHealth('starting')).toBe('starting');
  });

  it('has no exit code in reports while it runs', () => {
    const shown = { service: 'web', name: 'deployd-eu-1-web-1', state: 'running', health: null, exit_code: null };
    expect(reportedContainerOf(runningContainer)).toEqual(shown);
    const ended = (state: string) => reportedContainerOf({ ...runningContainer, state, exitCode: 3 }).exit_code;
    expect(['exited', 'dead', 'restarting'].map(ended)).toEqual([3, 3, null]);
  });
});

it.each([
  [true, {}],
  [true, { restartPolicy: 'on-failure' }],
  [false, { state: 'running' }],
  [false, { exitCode: 3 }],
  [false, { health: 'healthy' }],
  [false, { restartPolicy: 'always' }],
  [false, { restartPolicy: 'unless-stopped' }],
])('a one-shot is finished (%s) with %j', (finished, change) => {
  expect(isFinished({ ...runningContainer, state: 'exited', ...change })).toBe(finished);
});

it('lists services with new containers, with unchanged containers, and without containers', () => {
  const container = (id: string, service: string) => ({ id, service });
  const before = [container('1', 'web'), container('2', 'db'), container('3', 'z'), container('4', 'old')];
  const after = [container('5', 'web'), container('1', 'web'), container('6', 'api'), container('2', 'db')];
  expect(compareContainers(before, after)).toEqual({
    ...{ services: ['api', 'web'], untouched: ['db'], gone: ['old', 'z'] },
  });
});

const nowMs = Date.parse('2026-01-01T12:00:00Z');
const window = { nowMs, observedMs: nowMs - 65_000, settleMs: 10_000, intervalMs: 60_000 };
const up = (minS: number, maxS = minS + 1): ListedContainer => ({
  ...{ id: 'c1', service: 'web', name: 'web-1', state: 'running', health: null },
  upMs: [minS * 1000, maxS * 1000],
});

describe('a container may have crashed since the last tick, by its listed uptime', () => {
  it.each<[string, ObservedContainer, boolean]>([
    ['runs for seconds', up(4), true],
    ['was started after the last tick', up(58), true],
    ['was started just after the last tick', up(59, 65), true],
    ['may have been started before it', up(59, 66), false],
    ['ran before it', up(65), false],
    ['runs for an interval', up(60), false],
    ['runs for about a minute, which is too coarse', up(60, 120), false],
    ['is not listed with an uptime', { ...runningContainer }, true],
    ['does not run', { ...runningContainer, state: 'exited' }, false],
    ['has a healthcheck', { ...up(4), health: 'healthy' }, true],
  ])('%s', (_, container, expected) => {
    expect(mayHaveCrashed(container, window)).toBe(expected);
  });

  it('has settled, and the last tick observed it', () => {
    expect(mayHaveCrashed(up(10), { ...window, observedMs: nowMs - 5000 })).toBe(false);
    expect(mayHaveCrashed(up(8), { ...window, observedMs: nowMs - 5000 })).toBe(true);
  });

  it('has run for long, although the last tick was even longer ago', () => {
    expect(mayHaveCrashed(up(18_000, 21_600), { ...window, observedMs: nowMs - 86_400_000 })).toBe(false);
  });
});

describe('a running container has crashed', () => {
  const started = (secondsAgo: number, restarts: number) =>
    ({ ...up(0), restarts, startedMs: nowMs - secondsAgo * 1000 }) as unknown as InspectedContainer;
  it.each([
    ['restarted by the engine since the last tick', started(3, 5), true],
    ['the same, and it has settled', started(30, 5), true],
    ['started by an operator, compose or the start of the engine', started(3, 0), false],
    ['it is started now', started(0, 5), true],
    ['it does not run', { ...started(3, 5), state: 'exited' }, false],
    ['it ran at the last tick already', started(70, 5), false],
    ['it has run for an interval', started(60, 5), false],
    ['its start is in the future, because clocks were set back', started(-3600, 5), false],
    ['it has no start time', { ...started(3, 5), startedMs: NaN }, false],
    ['it has a healthcheck', { ...started(3, 5), health: 'healthy' }, false],
  ])('%s', (_, container, expected) => {
    expect(hasCrashed(container, window)).toBe(expected);
  });

  it('until it has settled, and until it has run for an interval if the last tick did not see that start', () => {
    expect(hasCrashed(started(9, 5), { ...window, observedMs: nowMs })).toBe(true);
    expect(hasCrashed(started(10, 5), { ...window, observedMs: nowMs })).toBe(false);
    expect(hasCrashed(started(20, 5), { ...window, observedMs: nowMs - 20_000 })).toBe(false);
    expect(hasCrashed(started(20, 5), { ...window, observedMs: nowMs - 20_001 })).toBe(true);
  });

  it('until it has settled with no further restart, or run for an interval', () => {
    const recently = { ...window, observedMs: nowMs - 5000 };
    expect(hasCrashed(started(8, 5), recently)).toBe(true);
    expect(hasCrashed(started(12, 5), recently)).toBe(false);
    expect(hasCrashed(started(3600, 5), { ...window, observedMs: nowMs - 86_400_000 })).toBe(false);
  });
});

it.each([
  [null, null, 0],
  ['12:00:00', null, 12],
  ['12:00:00', 'heartbeat', 13],
  ['12:00:00', 'applied', 13],
  ['12:00:00', 'unhealthy', 12],
])('counts from a check-in at %s, whose tick ended as %s', (at, outcome, hour) => {
  const last_check_in =
    at === null ? null : { at: `2026-01-01T${at}.000Z`, action: 'none' as const, desired_sha: null };
  const last_outcome = outcome === null ? null : { at: '2026-01-01T13:00:00.000Z', outcome, code: null, detail: null };
  const expected = hour === 0 ? 0 : Date.parse(`2026-01-01T${hour}:00:00.000Z`);
  expect(lastObservedMs({ last_check_in, last_outcome }, Date.parse('2026-01-02'))).toBe(expected);
});

it('ignores an observation in the future, because the clock was set back', () => {
  const last_check_in = { at: '2026-01-01T12:00:00.000Z', action: 'none' as const, desired_sha: null };
  expect(lastObservedMs({ last_check_in, last_outcome: null }, nowMs)).toBe(nowMs);
  expect(lastObservedMs({ last_check_in, last_outcome: null }, Date.parse('2025-12-31'))).toBe(0);
});

const container = (service: string, more: Partial<InspectedContainer> = {}): InspectedContainer => ({
  ...{ id: service, service, oneOff: false, name: `${service}-1`, state: 'running', health: null, exitCode: 0 },
  ...{ oomKilled: false, startError: '', startedMs: 10, createdMs: 0, restarts: 0, failingStreak: 0, retries: 3 },
  ...{ restartPolicy: 'no', image: 'app:1', imageId: 'sha256:1', mounts: [], healthLog: [], ...more },
});
const member = (more: Partial<InspectedContainer> = {}) =>
  container('app', { shares: [{ part: 'network', owner: 'dbdbdbdbdbdbdb' }], ...more });

describe('dead namespaces', () => {
  it.each<[string, InspectedContainer, InspectedContainer | null, string | null]>([
    ['of an owner that was started later', member(), container('db', { startedMs: 11 }), 'restart'],
    [
      'kept by a container that is restarting',
      member({ state: 'restarting' }),
      container('db', { startedMs: 11 }),
      'restart',
    ],
    ['of an owner that is gone', member(), null, 'recreate'],
    [
      'of an owner that is gone, by a container that has failed',
      member({ state: 'exited', exitCode: 1 }),
      null,
      'recreate',
    ],
    ['of no owner that was started before', member(), container('db', { startedMs: 9 }), null],
    ['of no owner that does not run', member(), container('db', { startedMs: 11, state: 'exited' }), null],
    [
      'of none, by a container that does not run',
      member({ state: 'exited' }),
      container('db', { startedMs: 11 }),
      null,
    ],
    ['of an owner that is gone, by a container that has finished', member({ state: 'exited' }), null, null],
  ])('%s', (_title, kept, owner, cure) => {
    const problems = deadNamespaces([kept], new Map([['dbdbdbdbdbdbdb', owner]]), () => 'db');
    const detail = 'keeps the dead network namespace of db';
    const problem = { service: 'app', detail, cure, containers: ['app'], isFailure: true };
    expect(problems).toEqual(cure === null ? [] : [problem]);
  });

  it('names an owner that is not recorded', () => {
    const problems = deadNamespaces([member()], new Map([['dbdbdbdbdbdbdb', null]]), () => undefined);
    expect(problems.map(({ detail }) => detail)).toEqual(['keeps the dead network namespace of dbdbdbdbdbdb']);
  });
});

describe('a crash loop', () => {
  it.each([
    [
      'three exits in 29.9 s',
      'always',
      [
        [0, 1],
        [15, 1],
        [29.9, 4],
      ],
      { exits: 3, seconds: 30, lastExit: 4 },
    ],
    [
      'three exits in 30.1 s',
      'always',
      [
        [0, 1],
        [15, 1],
        [30.1, 4],
      ],
      null,
    ],
    [
      'two exits',
      'always',
      [
        [0, 1],
        [1, 1],
      ],
      null,
    ],
    [
      'exits with 0 of a container that always runs',
      'unless-stopped',
      [
        [0, 0],
        [1, 0],
        [2, 0],
      ],
      { exits: 3, seconds: 2, lastExit: 0 },
    ],
    [
      'a third exit with 0 of a container that is started again after failures',
      'on-failure',
      [
        [0, 1],
        [1, 1],
        [2, 0],
      ],
      null,
    ],
    [
      'three failures of such a container',
      'on-failure',
      [
        [0, 1],
        [1, 1],
        [2, 1],
      ],
      { exits: 3, seconds: 2, lastExit: 1 },
    ],
    [
      'the first three of four',
      'always',
      [
        [0, 1],
        [1, 2],
        [2, 3],
        [90, 4],
      ],
      { exits: 3, seconds: 2, lastExit: 3 },
    ],
  ])('is found in %s: %#', (_title, restartPolicy, exits, expected) => {
    const all = exits.map(([s = 0, code = 0]) => ({ atMs: 1000 * s, code }));
    expect(findCrashLoop({ restartPolicy }, all)).toEqual(expected);
  });

  it('is found by restart counts if there are no events', () => {
    const container = { ...runningContainer, restartPolicy: 'always' };
    const counts = new RestartCounts();
    const loopAt = (nowMs: number, restarts: number) =>
      findCrashLoop(container, counts.exitsOf({ ...container, restarts }, { nowMs, code: 7 }));
    expect(loopAt(0, 5)).toBeNull();
    expect(loopAt(1000, 6)).toBeNull();
    expect(loopAt(12_000, 7)).toBeNull();
    expect(loopAt(13_000, 8)).toEqual({ exits: 3, seconds: 12, lastExit: 7 });
    expect(loopAt(14_000, 0)).toEqual({ exits: 3, seconds: 12, lastExit: 7 });
  });
});
