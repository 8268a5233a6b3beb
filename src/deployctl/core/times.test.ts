import { formatAge, formatTime } from './table.ts';

const now = Date.parse('2026-11-25T12:00:00Z');

it.each([
  [null, '-'],
  ['no time', '-'],
  ['2026-11-25T12:00:05Z', '0s'],
  ['2026-11-25T11:58:01Z', '119s'],
  ['2026-11-25T11:55:00Z', '5m'],
  ['2026-11-25T10:00:00Z', '2h'],
  ['2026-11-23T12:00:00Z', '2d'],
])('the age of %s is %s', (at, age) => {
  expect(formatAge(at, now)).toBe(age);
});

it('shows a time with how long ago it was, or how long it is to come', () => {
  expect(formatTime('2026-11-25T12:00:00.900Z', now)).toBe('2026-11-25T12:00:00.900Z (0s ago)');
  expect(formatTime('2026-11-25T11:55:00Z', now)).toBe('2026-11-25T11:55:00Z (5m ago)');
  expect(formatTime('2026-11-26T11:00:00Z', now)).toBe('2026-11-26T11:00:00Z (in 23h)');
  expect(formatTime(null, now)).toBe('never');
});
