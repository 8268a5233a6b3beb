import { hasCrashed, isSuspect, lastSeenMs } from './crashes.ts';
import type { Inspected, Listed } from './health.ts';

const nowMs = Date.parse('2026-01-01T12:00:00Z');
const since = { nowMs, seenMs: nowMs - 65_000, settleMs: 10_000, intervalMs: 60_000 };
const up = (least: number, most = least + 1): Listed => ({
  ...{ id: 'c1', service: 'web', name: 'web-1', state: 'running', health: null },
  upMs: [least * 1000, most * 1000],
});

describe('a container that may have died since the tick before, by its listed uptime', () => {
  it.each([
    ['runs for seconds', up(4), true],
    ['was started after the tick before', up(58), true],
    ['ran before it', up(65), false],
    ['runs for about a minute, which tells nothing', up(60, 120), false],
    ['has a healthcheck', { ...up(4), health: 'healthy' }, false],
  ])('%s', (_, container, expected) => {
    expect(isSuspect(container, since)).toBe(expected);
  });

  it('has settled, and the tick before saw it', () => {
    expect(isSuspect(up(12), { ...since, seenMs: nowMs - 5000 })).toBe(false);
    expect(isSuspect(up(8), { ...since, seenMs: nowMs - 5000 })).toBe(true);
  });

  it('runs for long, though the tick before was still longer ago', () => {
    expect(isSuspect(up(18_000, 21_600), { ...since, seenMs: nowMs - 86_400_000 })).toBe(false);
  });
});

describe('a container that runs has died by itself', () => {
  const started = (secondsAgo: number, restarts: number) =>
    ({ ...up(0), restarts, startedMs: nowMs - secondsAgo * 1000 }) as unknown as Inspected;
  it.each([
    ['started again by the engine since the tick before', started(3, 5), true],
    ['the same, and it has settled', started(30, 5), true],
    ['started by an operator, compose or the start of the engine', started(3, 0), false],
    ['it ran already at the tick before', started(70, 5), false],
    ['its start is yet to come, as clocks were set back', started(-3600, 5), false],
    ['it tells no start', { ...started(3, 5), startedMs: NaN }, false],
    ['it has a healthcheck', { ...started(3, 5), health: 'healthy' }, false],
  ])('%s', (_, container, expected) => {
    expect(hasCrashed(container, since)).toBe(expected);
  });

  it('until it has settled with no further restart, or run for an interval', () => {
    const soon = { ...since, seenMs: nowMs - 5000 };
    expect(hasCrashed(started(8, 5), soon)).toBe(true);
    expect(hasCrashed(started(12, 5), soon)).toBe(false);
    expect(hasCrashed(started(3600, 5), { ...since, seenMs: nowMs - 86_400_000 })).toBe(false);
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
  expect(lastSeenMs({ last_check_in, last_outcome }, Date.parse('2026-01-02'))).toBe(expected);
});

it('does not believe a look that is yet to come, where the clock was set back', () => {
  const last_check_in = { at: '2026-01-01T12:00:00.000Z', action: 'none' as const, desired_sha: null };
  expect(lastSeenMs({ last_check_in, last_outcome: null }, Date.parse('2025-12-31'))).toBe(0);
});
