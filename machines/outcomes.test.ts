import { endingNames } from './endings.ts';
import { failedFault, Fault, offlineFault } from './fault.ts';
import { isInterruption, outcomeOf, pausedOutcome, plainOutcome, tokenAbsentOutcome } from './outcomes.ts';
import type { Outcome } from './types.ts';

const pullFailed = new Fault('failed', 'failed: pull', { code: 'PULL_FAILED', tail: 'no space', moreLines: ['twice'] });

const outcomeRows: [words: string, error: unknown, laptopMode: boolean, expected: Partial<Outcome>][] = [
  ['a fault', pullFailed, false, { code: 'PULL_FAILED', lines: ['failed: pull', 'twice'], tail: 'no space' }],
  ['a failure on a laptop', failedFault('UP_FAILED', 'rc=1'), true, { code: 'UP_FAILED', lines: ['UP_FAILED: rc=1'] }],
  [
    'a server without a network',
    offlineFault('refused', { code: 'NETWORK' }),
    false,
    { ending: 'offline', code: 'NETWORK', lines: ['temporary network failure: refused'] },
  ],
  [
    'a laptop without a network',
    offlineFault('refused'),
    true,
    { ending: 'offlineLaptop', lines: ['temporary network failure: refused'] },
  ],
  ['a bug', new TypeError('hunter2'), false, { code: 'INTERNAL', lines: ['failed: internal error (TypeError)'] }],
  ['a thrown text', 'hunter2', true, { code: 'INTERNAL', lines: ['failed: internal error (string)'] }],
];

it.each(outcomeRows)('converts %s to an outcome', (_, error, laptopMode, expected) => {
  const defaults = { ending: 'failed', code: null, lines: [], tail: null, reason: '', reverted: false };
  expect(outcomeOf(error, laptopMode)).toEqual({ ...defaults, ...expected });
});

it('repeats the failure that a paused bundle waits for', () => {
  expect(pausedOutcome({ line: 'failed: pull', retryInS: 60 })).toEqual({
    ...plainOutcome('paused'),
    lines: ['failed: pull'],
  });
});

it('names the file in which the bootstrap grant is missing', () => {
  expect(tokenAbsentOutcome('/etc/deployd/bootstrap.jwt')).toEqual({
    ...plainOutcome('tokenAbsent'),
    lines: ['token ABSENT: no bootstrap grant in /etc/deployd/bootstrap.jwt'],
  });
});

it('treats only a stop, a lost engine and another announced bundle as an interruption', () => {
  expect(endingNames.filter((ending) => isInterruption(new Fault(ending, 'any line')))).toEqual([
    'interrupted',
    'superseded',
    'stopped',
  ]);
  expect(isInterruption({ ending: 'stopped' })).toBe(false);
});
