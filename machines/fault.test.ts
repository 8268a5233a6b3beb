import { Fault, refusedFault, throwIfStopped } from './fault.ts';
import type { Refusal } from './refusals.ts';

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
