import type { Backend, BackendDetails, ReceivedReport } from '../core/types.ts';
import { convergenceOf, formatConvergence, refusalOf } from './wait.ts';

const backend = (id: string, applied_sha: string | null, report?: Partial<ReceivedReport>) =>
  ({ id, desired_sha: 'new', applied_sha, last_report: report ?? null }) as BackendDetails;
const refusal = { report_id: 'r1', outcome: 'refused', desired_sha: 'new' } as const;

it.each([
  ['has applied it', 'new', { applied: 1, waiting: 0 }],
  ['has applied something else', 'old', { applied: 0, waiting: 1 }],
  ['has applied nothing', null, { applied: 0, waiting: 1 }],
])('a backend that %s', (_name, applied, expected) => {
  const { applied: done, waiting } = convergenceOf([backend('a', applied)]);
  expect({ applied: done.length, waiting: waiting.length }).toEqual(expected);
});

it.each([
  ['a refusal of it', refusal, [], true],
  ['a refusal from before the wait, which may be over', refusal, ['r1'], false],
  ['a refusal of the bundle before', { ...refusal, desired_sha: 'old' }, [], false],
  ['a failure, which is tried again', { ...refusal, outcome: 'failed' }, [], false],
  ['no report', undefined, [], false],
] as const)('%s', (_name, report, old, refuses) => {
  expect(refusalOf(backend('a', 'old', report), new Set(old)) !== null).toBe(refuses);
});

it('tells how many are there, and of what', () => {
  const name = (sha: string | null) => `«${sha}»`;
  const format = (all: Backend[]) => formatConvergence(convergenceOf(all), name);
  expect(format([backend('a', 'new'), backend('b', null)])).toBe('1 of 2 backends have applied «new»');
  const other = { ...backend('b', 'x'), desired_sha: 'x' };
  expect(format([backend('a', 'new'), other])).toBe('2 of 2 backends have applied what is desired of them');
  expect(format([])).toBe('no backend is active');
});
