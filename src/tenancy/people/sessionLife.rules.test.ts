import { groupsAge, isSessionOver, RECHECK_GRACE_MS, sessionsOverBefore, type SessionTimes } from './person.rules.ts';

const limits = { idle_s: 60, lifetime_s: 600, recheck_s: 100 };
const begun: SessionTimes = { created_at: 0, last_used_at: 0, checked_at: 0 };

describe('a session', () => {
  it.each([
    ['lasts while it is used', { ...begun, last_used_at: 500_000 }, 559_999, false],
    ['is over once it was idle for its limit', { ...begun, last_used_at: 500_000 }, 560_000, true],
    ['lasts for its lifetime', { ...begun, last_used_at: 599_000 }, 599_999, false],
    ['is over after its lifetime, however it is used', { ...begun, last_used_at: 600_000 }, 600_000, true],
    ['lasts, however late it began', { ...begun, created_at: 900_000, last_used_at: 900_000 }, 900_001, false],
    ['lasts though a clock went back a little', { ...begun, created_at: 59_999, last_used_at: 59_999 }, 0, false],
    ['is over once a clock went back by its limits', { ...begun, created_at: 600_000 }, 0, true],
  ])('%s', (_title, times, now, isOver) => {
    expect(isSessionOver(times, limits, now)).toBe(isOver);
  });

  it.each([
    ['known', 99_999],
    ['due', 100_000],
    ['due', 99_999 + RECHECK_GRACE_MS],
    ['unusable', 100_000 + RECHECK_GRACE_MS],
    ['known', -99_999],
    ['unusable', -100_000],
  ])('has groups that are %s after %d ms', (age, now) => {
    expect(groupsAge(begun, limits, now)).toBe(age);
  });
});

it('is over before the moments of its limits, and its groups age from when they were told', () => {
  expect(sessionsOverBefore(limits, 1_000_000)).toEqual({ created: 400_000, used: 940_000 });
  expect(groupsAge({ ...begun, checked_at: 1_000_000 }, limits, 1_000_001)).toBe('known');
});
