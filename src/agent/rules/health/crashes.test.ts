import { hasCrashed, mayHaveCrashed, lastObservedMs } from './crashes.ts';
import { runningContainer } from '../../../../fixtures/engine/stubContainer.ts';
import type { InspectedContainer, ListedContainer, ObservedContainer } from './health.ts';

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

  it('runs for long, although the last tick was even longer ago', () => {
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
