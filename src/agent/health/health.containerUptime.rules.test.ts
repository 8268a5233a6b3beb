import { runningContainer } from '../../../fixtures/world/engine/stubContainer.ts';
import { ContainerUptime, failedAtStart } from './health.rules.ts';

const clockOffsetMs = 1_000_000;

/** A release started at 5 s of the monotonic clock. */
const uptime = () => new ContainerUptime({ atMs: 5000, clockOffsetMs, starts: new Map() });

/** A container that the engine says was started at this time of the monotonic clock. */
const startedAt = (ms: number, more: object = {}) => ({ ...runningContainer, startedMs: clockOffsetMs + ms, ...more });

describe('a container runs since', () => {
  it.each<[string, object, { nowMs: number; aheadMs: number }, number | null]>([
    ['its start by the engine', startedAt(6000), { nowMs: 9000, aheadMs: clockOffsetMs }, 6000],
    ['its start, if that is now', startedAt(9000), { nowMs: 9000, aheadMs: clockOffsetMs }, 9000],
    ['its start, although the clock drifts', startedAt(6000), { nowMs: 9000, aheadMs: clockOffsetMs + 1000 }, 6000],
    ['now, as its start is in the future', startedAt(9001), { nowMs: 9000, aheadMs: clockOffsetMs }, 9000],
    ['now, as the clock was set forward', startedAt(6000), { nowMs: 9000, aheadMs: clockOffsetMs + 1001 }, 9000],
    ['now, as the clock was set back', startedAt(6000), { nowMs: 9000, aheadMs: clockOffsetMs - 1001 }, 9000],
    ['never, as it has ended', startedAt(6000, { state: 'exited' }), { nowMs: 9000, aheadMs: clockOffsetMs }, null],
  ])('%s', (_name, container, clock, since) => {
    expect(uptime().runningSinceMs(container as typeof runningContainer, clock)).toBe(since);
  });

  it('the first observation of its run, which ends with a restart', () => {
    const clock = uptime();
    const observe = (nowMs: number, more: object = {}) =>
      clock.runningSinceMs(startedAt(60_000, more), { nowMs, aheadMs: clockOffsetMs });
    expect([observe(7000), observe(8000)]).toEqual([7000, 7000]);
    expect([observe(9000, { restarts: 1 }), observe(9000, { id: 'c2' })]).toEqual([9000, 9000]);
    expect(observe(9500, { startedMs: clockOffsetMs + 70_000 })).toBe(9500);
    expect(observe(9900)).toBe(7000);
  });
});

const before = { id: 'c1', startedMs: 5 };

it.each([
  ['one that ended with an error since the start', { state: 'exited', exitCode: 3, startedMs: 9 }, true],
  ['one that is restarted after an error', { state: 'restarting', exitCode: 1, startedMs: 9 }, true],
  ['one that was dead before', { state: 'exited', exitCode: 3, startedMs: 5 }, false],
  ['one that has finished', { state: 'exited', exitCode: 0, startedMs: 9 }, false],
  ['one that runs', { startedMs: 9 }, false],
  ['one that the engine could not start', { state: 'created', startError: 'exec format error' }, true],
  ['one that compose calls unhealthy', { health: 'unhealthy' }, true],
  ['one that is unhealthy without being blamed', { health: 'unhealthy', name: 'other-1' }, false],
])('a start failed at %s: %p', (_, change, expected) => {
  const container = { ...runningContainer, ...before, ...change };
  const output = `dependency failed to start: container ${runningContainer.name} is unhealthy`;
  const starts = new Map([[before.id, before.startedMs]]);
  expect(failedAtStart([container], { starts, output })).toEqual(expected ? [container] : []);
});
