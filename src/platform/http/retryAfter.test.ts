import { parseRetryAfter } from './retryAfter.ts';

it.each<[string | undefined, number | null]>([
  [undefined, null],
  ['0', 0],
  ['7', 7],
  [' 120 ', 120],
  ['-7', 0],
  ['7 seconds', null],
  ['Sat, 21 Nov 2026 12:00:05 GMT', 5],
  ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ['soon', null],
])('Retry-After %j is %j seconds', (header, seconds) => {
  expect(parseRetryAfter({ 'retry-after': header }, Date.UTC(2026, 10, 21, 12))).toBe(seconds);
});

it("converts a Retry-After date by the server's clock", () => {
  const headers = { 'retry-after': 'Sat, 21 Nov 2026 12:00:05 GMT', date: 'Sat, 21 Nov 2026 12:00:00 GMT' };
  expect(parseRetryAfter(headers, 0)).toBe(5);
});
