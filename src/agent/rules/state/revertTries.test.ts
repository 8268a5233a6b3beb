import { afterFailedTry, describeUnfinished, isTryDue } from './revertTries.ts';

const now = new Date('2026-11-21T12:00:00Z');
const sha = 'b'.repeat(64);
const attempt = { sha, phase: 'reverting', at: '2026-11-21T11:00:00Z' };
const failure = { line: 'failed: docker compose up failed (rc=1)', code: 'UP_FAILED' };
const unreverted = {
  ...{ sha, tries: 3, line: 'docker compose up failed (rc=1)', code: 'UP_FAILED' },
  retry_at: '2026-11-21T12:01:00.000Z',
};

describe('the tries of a revert', () => {
  it.each([
    ['the first is counted', { attempt }, { attempt: { ...attempt, tries: 1 } }],
    ['the second is counted', { attempt: { ...attempt, tries: 1 } }, { attempt: { ...attempt, tries: 2 } }],
    ['the third ends the attempt', { attempt: { ...attempt, tries: 2 } }, { attempt: null, unreverted }],
    [
      'further ones are made after growing pauses',
      { attempt: null, unreverted },
      { attempt: null, unreverted: { ...unreverted, tries: 4, retry_at: '2026-11-21T12:02:00.000Z' } },
    ],
    [
      'a new attempt starts anew',
      { attempt: { ...attempt, sha: 'c'.repeat(64) }, unreverted },
      { attempt: { ...attempt, sha: 'c'.repeat(64), tries: 1 } },
    ],
    ['a heal without an attempt is no try', { attempt: null }, {}],
  ])('%s', (_title, state, patch) => expect(afterFailedTry(state, failure, now)).toEqual(patch));

  it.each([
    ['not within the pause', unreverted, true, now, false],
    ['after the pause', unreverted, true, new Date('2026-11-21T12:01:00Z'), true],
    ['when a clock was set back', unreverted, true, new Date('2026-11-21T10:00:00Z'), true],
    ['at once when what was unhealthy no longer is', { ...unreverted, code: 'UNHEALTHY' }, false, now, true],
    ['not at once after another failure', unreverted, false, now, false],
  ])('is due: %s', (_title, unfinished, isAnyUnhealthy, at, due) =>
    expect(isTryDue(unfinished, isAnyUnhealthy, at)).toBe(due),
  );

  it('is described with its cause', () =>
    expect(describeUnfinished(unreverted)).toBe('revert not finished after 3 tries: docker compose up failed (rc=1)'));
});
