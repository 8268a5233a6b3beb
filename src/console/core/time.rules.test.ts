import { absoluteTime, durationText, relativeTime, zoneName } from './time.rules.ts';

const now = Date.parse('2026-11-26T12:00:00Z');
const away = (seconds: number) => relativeTime(new Date(now + seconds * 1000).toISOString(), now);

it.each([
  [0, 'just now'],
  [-59, 'just now'],
  [59, 'in less than a minute'],
  [-60, '1 minute ago'],
  [-3599, '59 minutes ago'],
  [-3600, '1 hour ago'],
  [-86_399, '23 hours ago'],
  [-86_400, '1 day ago'],
  [3 * 86_400, 'in 3 days'],
])('%d s away is %s', (seconds, text) => expect(away(seconds)).toBe(text));

it('a time is shown in a zone, which is named with its offset of that day', () => {
  expect(absoluteTime('2026-11-26T12:00:05Z', 'Europe/Berlin')).toBe('2026-11-26 13:00:05');
  expect(absoluteTime('2026-07-26T12:00:05Z', 'Europe/Berlin')).toBe('2026-07-26 14:00:05');
  expect(zoneName('Europe/Berlin', now)).toBe('Europe/Berlin (UTC+1)');
  expect(zoneName('Europe/Berlin', Date.parse('2026-07-26'))).toBe('Europe/Berlin (UTC+2)');
});

it.each([
  [12.5, '13 ms'],
  [999, '999 ms'],
  [1000, '1.0 s'],
  [59_900, '59.9 s'],
  [185_000, '3 min 5 s'],
  [86_400_000, '1440 min 0 s'],
  [1e308, 'more than a day'],
  [Infinity, 'more than a day'],
])('%d ms last %s', (milliseconds, text) => expect(durationText(milliseconds)).toBe(text));
