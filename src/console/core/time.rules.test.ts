import {
  absoluteTime,
  durationText,
  relativeTime,
  shouldPoll,
  type SignsOfLife,
  staleSince,
  steadyClock,
  zoneName,
} from './time.rules.ts';

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

it('measures ages with a clock that is set back, or sleeps', () => {
  let machine = now;
  const steady = steadyClock(() => machine);
  const ages = [5, -3600, 5, 3600].map((step) => {
    machine += step * 1000;
    return (steady() - now) / 1000;
  });
  expect(ages).toEqual([5, 5, 10, 3610]);
});

/** Seconds before now; null for never. */
const life = (ago: Record<keyof SignsOfLife, number | null>) =>
  Object.fromEntries(
    Object.entries(ago).map(([key, seconds]) => [key, seconds && now - seconds * 1000]),
  ) as unknown as SignsOfLife;

it.each<[string, Record<keyof SignsOfLife, number | null>, number | null, boolean]>([
  ['all is well', { stream: 2, loaded: 60, awaitedSince: null, brokenSince: null }, null, false],
  ['the stream is silent', { stream: 8, loaded: 60, awaitedSince: null, brokenSince: null }, null, true],
  [
    'the stream is silent, but loads succeed',
    { stream: 600, loaded: 8, awaitedSince: null, brokenSince: null },
    null,
    true,
  ],
  ['nothing arrives', { stream: 11, loaded: 60, awaitedSince: 3, brokenSince: null }, 11, false],
  ['only loads hang', { stream: 1, loaded: 60, awaitedSince: 11, brokenSince: null }, 60, false],
  ['the stream breaks', { stream: 3, loaded: 60, awaitedSince: null, brokenSince: 1 }, 1, false],
  [
    'the stream is refused, but loads succeed',
    { stream: 600, loaded: 1, awaitedSince: null, brokenSince: 9 },
    null,
    false,
  ],
  ['the tab was asleep', { stream: 3600, loaded: 3600, awaitedSince: null, brokenSince: null }, 3600, true],
])('knows whether a page may be old, and loads it again, when %s', (_when, ago, since, polls) => {
  const stale = staleSince(life(ago), now);
  expect([stale && (now - stale) / 1000, shouldPoll(life(ago), now)]).toEqual([since, polls]);
});
