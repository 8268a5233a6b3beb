import { runningContainer } from '../../../fixtures/world/engine/stubContainer.ts';
import { lateFailures, WaitVerdict, type WatchedContainer } from './unhealthyServices.rules.ts';

const expected = [
  { name: 'web', replicas: 1 },
  { name: 'job', replicas: 1 },
];
const at = (service: string, healthStatus: WatchedContainer['healthStatus'], more: Partial<WatchedContainer> = {}) => ({
  container: { ...runningContainer, id: service, service },
  healthStatus,
  lastExit: null,
  ...more,
});
const [healthy, starting, failed] = [at('web', 'healthy'), at('web', 'pending'), at('web', 'failed')];
const running = at('job', 'pending', { job: { sinceMs: 0, overdueS: null } });
const overdue = at('job', 'failed', { job: { sinceMs: 0, overdueS: 9 } });
const done = at('job', 'healthy');

/** The services that are named as the cause at each moment; a moment has a time in milliseconds and its containers. */
function blame(...moments: [number, ...WatchedContainer[]][]) {
  const verdict = new WaitVerdict(expected, { deadlineMs: 100, settleMs: 10 });
  return moments.map(([nowMs, ...watched]) =>
    verdict
      .blamed({ nowMs, watched, individually: watched, remainingMs: 0 })
      ?.map(({ container }) => container.service),
  );
}

const [waits, all] = [undefined, ['web', 'job']];

it.each([
  ['fails at once with a failed container', [[0, failed, running]], [all]],
  ['fails at once with an overdue job', [[0, healthy, overdue]], [all]],
  [
    'fails at the deadline',
    [
      [99, starting, done],
      [100, starting, done],
    ],
    [waits, all],
  ],
  [
    'goes on for a job alone',
    [
      [100, healthy, running],
      [500, healthy, running],
    ],
    [waits, waits],
  ],
  [
    'does not go on for others than jobs',
    [
      [99, starting, running],
      [100, starting, running],
    ],
    [waits, ['web']],
  ],
  [
    'lets containers settle after the last job',
    [
      [500, healthy, running],
      [505, starting, done],
      [511, starting, done],
    ],
    [waits, waits, all],
  ],
] as [string, [number, ...WatchedContainer[]][], unknown[]][])('a wait %s', (_title, moments, expectedBlame) => {
  expect(blame(...moments)).toEqual(expectedBlame);
});

it('returns how long no decision is made without a change', () => {
  const verdict = new WaitVerdict(expected, { deadlineMs: 100, settleMs: 10 });
  expect(verdict.leftMs(40)).toBe(60);
  expect(verdict.leftMs(100)).toBe(Infinity);
});

const services = [
  { name: 'task', replicas: 1, kind: 'once' as const },
  { name: 'job', replicas: 1, kind: 'job' as const },
  { name: 'web', replicas: 1, kind: 'service' as const },
];
const ended = { ...runningContainer, service: 'task', state: 'exited', exitCode: 3, finishedMs: 1500 };
const times = { appliedMs: 1000, windowMs: 1000, bootMs: 0 };

describe('a failure soon after the apply', () => {
  it.each([
    ['an error in the window', {}, true],
    ['one at its end', { finishedMs: 2000 }, true],
    ['one before the commit was written', { finishedMs: 900 }, true],
    ['one after it', { finishedMs: 2001 }, false],
    ['one without a time', { finishedMs: undefined }, false],
    ['the exit code 0', { exitCode: 0 }, false],
    ['a signal from outside', { exitCode: 137 }, false],
    ['want of memory', { exitCode: 137, oomKilled: true }, true],
    ['a crash by a signal of its own', { exitCode: 139 }, true],
    ['a container with a healthcheck', { health: 'unhealthy' }, false],
    ['a running container', { state: 'running' }, false],
    ['a job', { service: 'job' }, false],
    ['a service with a restart policy', { service: 'web' }, false],
    ['a service of an older record', { service: 'other' }, false],
    ['a container that another tool created', { id: 'foreign' }, false],
  ])('%s', (_title, change, counts) => {
    const recorded = [{ ...ended, image: '', networks: [], volumes: [], number: '1' }];
    const found = [{ ...ended, ...change } as typeof ended];
    expect(lateFailures(found, { services, containers: recorded }, times)).toHaveLength(counts ? 1 : 0);
  });

  it('does not count if the host was started meanwhile', () => {
    expect(lateFailures([ended], { services }, { ...times, bootMs: 1200 })).toEqual([]);
  });

  it('counts with a record of an older agent, which has no containers', () => {
    expect(lateFailures([ended], { services }, times)).toEqual([ended]);
  });
});
