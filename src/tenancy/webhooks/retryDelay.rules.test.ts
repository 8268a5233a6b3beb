import { isRefusal, retryDelayMs } from './event.rules.ts';

const settings = { first_retry_s: 5, longest_retry_s: 60 };

it.each([
  [1, 1, 5000],
  [1, 0, 2500],
  [2, 1, 10_000],
  [3, 0.5, 15_000],
  [4, 1, 40_000],
  [5, 1, 60_000],
  [5000, 1, 60_000],
  [5000, 0, 30_000],
])('after %d failures and with the random number %d the pause has %d ms', (failures, random, pause) => {
  expect(retryDelayMs(failures, settings, { random })).toBe(pause);
});

it('is at least what the endpoint asks for, and never more than the longest pause', () => {
  const asked = (retryAfterS: number) => retryDelayMs(1, settings, { random: 1, retryAfterS });
  expect([asked(2), asked(30), asked(86_400)]).toEqual([5000, 30_000, 60_000]);
});

it('is of one message where the endpoint refuses it, else of the endpoint', () => {
  const statuses = [null, 100, 302, 400, 404, 408, 410, 422, 429, 499, 500, 503];
  expect(statuses.filter(isRefusal)).toEqual([400, 404, 410, 422, 499]);
});
