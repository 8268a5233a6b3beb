import { endingNames } from './endings.ts';
import {
  failedFault,
  Fault,
  isInterruption,
  offlineFault,
  outcomeOf,
  pausedOutcome,
  plainOutcome,
  refusedFault,
  throwIfStopped,
  tokenAbsentOutcome,
} from './fault.ts';
import type { Refusal } from './refusals.ts';
import type { Outcome } from './types.ts';

it('contains an ending and one line, and other details only if they are given', () => {
  const nothing = { code: null, tail: null, retryAfterS: null, isTimeout: false, refusals: [] };
  expect(new Fault('failed', 'failed: pull')).toMatchObject({
    ...nothing,
    name: 'Fault',
    message: 'failed: pull',
    ending: 'failed',
    lines: ['failed: pull'],
  });
});

it('contains the given details', () => {
  const details = { code: 'PULL_FAILED', tail: 'no space', retryAfterS: 0, isTimeout: true };
  const fault = new Fault('failed', 'failed: pull', { ...details, moreLines: ['twice'] });
  expect(fault).toMatchObject({ ...details, lines: ['failed: pull', 'twice'] });
});

it('has one line for each refusal and the code of the first', () => {
  const refusals: Refusal[] = [
    { code: 'ENV_INCOMPLETE', detail: 'unresolved: A' },
    { code: 'COMPOSE_REFUSED', detail: 'web: build' },
  ];
  expect(refusedFault(refusals)).toMatchObject({
    refusals,
    ending: 'refused',
    code: 'ENV_INCOMPLETE',
    lines: ['refused: ENV_INCOMPLETE: unresolved: A', 'refused: COMPOSE_REFUSED: web: build'],
  });
});

it('ends the work only after SIGTERM', () => {
  expect(() => throwIfStopped(new AbortController().signal)).not.toThrow();
  const stopped = { ending: 'stopped', message: 'stopped by SIGTERM' };
  expect(() => throwIfStopped(AbortSignal.abort())).toThrow(expect.objectContaining(stopped) as Error);
});

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
