import { eventOfReport, outcomeOfTrouble, troubleOf } from './event.rules.ts';

it.each([
  ['applied', null, 'backend.recovered'],
  ['heartbeat', null, 'backend.recovered'],
  ['refused', 'refused abc', 'backend.refused'],
  ['failed', 'failed abc', 'backend.failed'],
  ['unhealthy', 'unhealthy abc', 'backend.unhealthy'],
  ['down', null, null],
] as const)('a report of %s is the trouble %s, and a change to it the event %s', (outcome, trouble, event) => {
  expect(troubleOf({ outcome, desired_sha: 'abc' })).toBe(trouble);
  expect(eventOfReport(outcome)).toBe(event);
});

it('is another trouble with another desired bundle, or without one', () => {
  const troubles = ['abc', 'def', null].map((desired_sha) => troubleOf({ outcome: 'failed', desired_sha }));
  expect(troubles).toEqual(['failed abc', 'failed def', 'failed none']);
  expect(outcomeOfTrouble('failed abc')).toBe('failed');
});
