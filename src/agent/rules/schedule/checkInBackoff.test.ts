import { packagedTimer } from '../../../../fixtures/bench/fleet/timer.ts';
import { aloneUntil, dueS, isOverdue, leaveAloneS, sleepS, spreadS, triesOf } from './checkInBackoff.ts';

const now = new Date('2026-11-21T12:00:00.000Z');
const inSeconds = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
const most = 1 - Number.EPSILON;

it('the loop sleeps its interval and up to ten seconds more', () => {
  expect([0, 0.5, most].map((random) => sleepS(60, random))).toEqual([60, 65, expect.closeTo(70)]);
});

describe('a host that is back', () => {
  it.each([
    ['was due a moment ago', inSeconds(-1), true],
    ['is due in a moment', inSeconds(1), false],
    ['never checked in', null, false],
    ['has a state that tells nothing', 'soon', false],
  ])('%s', (_title, due_at, overdue) => {
    expect(isOverdue({ pace: { due_at, alone_until: null }, last_outcome: null }, 60, now)).toBe(overdue);
  });

  it('is nobody whose last tick was long', () => {
    const pace = { due_at: inSeconds(-1), alone_until: null };
    const told = (seconds: number) => isOverdue({ pace, last_outcome: { at: inSeconds(-seconds) } }, 60, now);
    expect([told(89), told(91)]).toEqual([false, true]);
  });

  it('has no pace in a file of an older version', () => {
    expect(isOverdue({ last_outcome: null }, 60, now)).toBe(false);
    expect(aloneUntil(undefined, now)).toBeNull();
  });

  it('is everyone who boots, however fast, and nobody who ticks by the timer', () => {
    const { onBootS, onUnitInactiveS, randomizedDelayS } = packagedTimer();
    expect(dueS(60, false)).toBeLessThanOrEqual(onBootS);
    expect(dueS(60, false)).toBeGreaterThan(onUnitInactiveS + randomizedDelayS + 10);
  });

  it('knocks once, and waits up to one round before it goes on', () => {
    expect([triesOf(true), triesOf(false)]).toEqual([1, 3]);
    expect([0, 0.5, most].map((random) => spreadS(60, random))).toEqual([0, 32.5, expect.closeTo(65)]);
  });

  it('is not back again for having waited', () => {
    expect(dueS(60, true)).toBe(dueS(60, false) + spreadS(60, 1));
  });
});

describe('the service is left alone', () => {
  const failed = { retryAfterS: null, waitedS: 0, awayS: null };

  it.each([
    ['as long as it asks for', { retryAfterS: 120 }, 0, 120],
    ['and up to a minute more', { retryAfterS: 120 }, most, 180],
    ['but for a short time no more than as long again', { retryAfterS: 5 }, most, 10],
    ['never longer than an hour and a minute', { retryAfterS: 1e9 }, most, 3660],
    ['not at all where it asks to be tried at once', { retryAfterS: 0 }, most, 0],
    ['not for an answer that came soon', { waitedS: 4, awayS: 3000 }, most, 0],
    ['not for a wait in vain of a host that was there lately', { waitedS: 30 }, most, 0],
    ['half as long as the host was away, at least', { waitedS: 10, awayS: 200 }, 0, 100],
    ['as long as the host was away, at most', { waitedS: 10, awayS: 200 }, most, 200],
    ['up to ten minutes', { waitedS: 10, awayS: 3000 }, most, 600],
  ])('%s', (_title, what, random, seconds) => {
    expect(leaveAloneS({ ...failed, ...what }, random)).toBeCloseTo(seconds);
  });

  it.each([
    ['until its time', inSeconds(60), inSeconds(60)],
    ['no longer', inSeconds(-1), null],
    ['not where a clock was set back', inSeconds(7200), null],
    ['not by nonsense', 'soon', null],
    ['not by nothing', null, null],
  ])('%s', (_title, alone_until, until) => {
    expect(aloneUntil({ due_at: null, alone_until }, now)?.toISOString() ?? null).toBe(until);
  });
});
