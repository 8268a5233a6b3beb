import { logSinceOf } from './logSince.ts';

const now = new Date('2026-11-26T12:00:00Z');

it.each([
  ['90s', '2026-11-26T11:58:30.000Z'],
  ['10m', '2026-11-26T11:50:00.000Z'],
  ['2h', '2026-11-26T10:00:00.000Z'],
  ['3d', '2026-11-23T12:00:00.000Z'],
  ['2026-11-26T08:00Z', '2026-11-26T08:00:00.000Z'],
  ['2026-11-26 08:00:01.5+01:00', '2026-11-26T07:00:01.500Z'],
])('%s is %s', (text, time) => {
  expect(logSinceOf(text, now)?.toISOString()).toBe(time);
});

it.each(['', '0m', '10', '1y', 'yesterday', '2026-13-01T08:00Z', '2026-11-26', '8:00'])('%j is no time', (text) => {
  expect(logSinceOf(text, now)).toBeNull();
});
