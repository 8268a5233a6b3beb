import { runningContainer } from '../../../fixtures/world/engine/stubContainer.ts';
import { WaitVerdict, type WatchedContainer } from './unhealthyServices.rules.ts';

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
