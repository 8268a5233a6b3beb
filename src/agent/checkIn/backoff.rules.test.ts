import { packagedTimer } from '../../../fixtures/world/boot/timer.ts';
import {
  backoffS,
  backoffUntil,
  checkInDueS,
  isOverdue,
  jitterS,
  maxAttempts,
  tickIntervalS,
} from './backoff.rules.ts';

const now = new Date('2026-11-21T12:00:00.000Z');
const inSeconds = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
const almostOne = 1 - Number.EPSILON;

it('the loop waits its interval plus a jitter of up to ten seconds', () => {
  expect([0, 0.5, almostOne].map((random) => tickIntervalS(60, random))).toEqual([60, 65, expect.closeTo(70)]);
});

describe('an overdue host', () => {
  it.each([
    ['was due a moment ago', inSeconds(-1), true],
    ['is due in a moment', inSeconds(1), false],
    ['is due now', inSeconds(0), false],
    ['never checked in', null, false],
    ['has an invalid time in its state', 'soon', false],
  ])('%s', (_title, due_at, overdue) => {
    expect(isOverdue({ pace: { due_at, alone_until: null }, last_outcome: null }, 60, now)).toBe(overdue);
  });

  it('is not overdue after a long tick', () => {
    const pace = { due_at: inSeconds(-1), alone_until: null };
    const afterTick = (seconds: number) => isOverdue({ pace, last_outcome: { at: inSeconds(-seconds) } }, 60, now);
    expect([afterTick(90), afterTick(91)]).toEqual([false, true]);
  });

  it('is not overdue with a state of an older version', () => {
    expect(isOverdue({ last_outcome: null }, 60, now)).toBe(false);
    expect(backoffUntil(undefined, now)).toBeNull();
  });

  it('counts as overdue after every boot, but not when the timer starts a tick', () => {
    const { onBootS, onUnitInactiveS, randomizedDelayS } = packagedTimer();
    expect(checkInDueS(60, false)).toBeLessThanOrEqual(onBootS);
    expect(checkInDueS(60, false)).toBeGreaterThan(onUnitInactiveS + randomizedDelayS + 10);
  });

  it('makes one attempt, and waits up to one interval after its check-in', () => {
    expect([maxAttempts(true), maxAttempts(false)]).toEqual([1, 3]);
    expect([0, 0.5, almostOne].map((random) => jitterS(60, random))).toEqual([0, 32.5, expect.closeTo(65)]);
  });

  it('is not overdue again after its delay', () => {
    expect(checkInDueS(60, true)).toBe(checkInDueS(60, false) + jitterS(60, 1));
  });
});

describe('the check-in backoff', () => {
  const failed = { retryAfterS: null, responseS: 0, offlineS: null };

  it.each([
    ['is the Retry-After', { retryAfterS: 120 }, 0, 120],
    ['adds a jitter of up to a minute', { retryAfterS: 120 }, almostOne, 180],
    ['adds no more than a short Retry-After', { retryAfterS: 5 }, almostOne, 10],
    ['is at most an hour and a minute', { retryAfterS: 1e9 }, almostOne, 3660],
    ['is 0 for a Retry-After of 0', { retryAfterS: 0 }, almostOne, 0],
    ['is 0 after a fast response', { responseS: 4, offlineS: 3000 }, almostOne, 0],
    ['is 0 for a host that is not overdue', { responseS: 30 }, almostOne, 0],
    ['is at least half of the offline time', { responseS: 5, offlineS: 200 }, 0, 100],
    ['is at most the offline time', { responseS: 10, offlineS: 200 }, almostOne, 200],
    ['is at most ten minutes', { responseS: 10, offlineS: 3000 }, almostOne, 600],
  ])('%s', (_title, changes, random, seconds) => {
    expect(backoffS({ ...failed, ...changes }, random)).toBeCloseTo(seconds);
  });

  it.each([
    ['lasts until its end', inSeconds(60), inSeconds(60)],
    ['is over at its end', inSeconds(0), null],
    ['is over after its end', inSeconds(-1), null],
    ['lasts up to an hour and a minute', inSeconds(3660), inSeconds(3660)],
    ['is over when the clock was set back', inSeconds(3661), null],
    ['ignores an invalid time', 'soon', null],
    ['is absent without a time', null, null],
  ])('%s', (_title, alone_until, until) => {
    expect(backoffUntil({ due_at: null, alone_until }, now)?.toISOString() ?? null).toBe(until);
  });
});
