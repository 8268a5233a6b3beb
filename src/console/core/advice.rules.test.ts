import { adviceFor } from './pages.rules.ts';

it.each([
  ['ROLLOUT_ACTIVE', 409, /abort it/],
  ['UNAUTHENTICATED', 401, /Sign in again/],
  ['OVERLOADED', 503, /Try again/],
])('%s (%d) is shown with a remedy', (code, status, advice) => expect(adviceFor({ code, status })).toMatch(advice));

it('an error whose message says all has no advice', () => {
  expect(adviceFor({ code: 'REQUEST_INVALID', status: 400 })).toBeNull();
});
