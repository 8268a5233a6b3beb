import type { Backend, ReceivedReport } from './api/types.ts';
import { convergenceOf, formatConvergence } from './convergence.ts';

const backend = (id: string, applied_sha: string | null, report?: Partial<ReceivedReport>) =>
  ({ id, desired_sha: 'new', applied_sha, last_report: report ?? null }) as Backend;
const refusal = { report_id: 'r1', outcome: 'refused', desired_sha: 'new' } as const;
const sorted = (backends: Backend[], old: string[] = []) => {
  const { applied, waiting, refused } = convergenceOf(backends, new Set(old));
  return [applied, waiting, refused].map((all) => all.map(({ id }) => id));
};

it.each([
  ['has applied it', backend('a', 'new'), [['a'], [], []]],
  ['has applied something else', backend('a', 'old'), [[], ['a'], []]],
  ['has applied nothing', backend('a', null), [[], ['a'], []]],
  ['refused it', backend('a', 'old', refusal), [[], ['a'], ['a']]],
  ['refused the one before', backend('a', 'old', { ...refusal, desired_sha: 'old' }), [[], ['a'], []]],
  ['refused it, and applied it since', backend('a', 'new', refusal), [['a'], [], []]],
  ['failed, which is tried again', backend('a', 'old', { ...refusal, outcome: 'failed' }), [[], ['a'], []]],
])('a backend that %s', (_name, each, expected) => {
  expect(sorted([each])).toEqual(expected);
});

it('a refusal from before the wait may be over', () => {
  expect(sorted([backend('a', 'old', refusal)], ['r1'])).toEqual([[], ['a'], []]);
});

it('tells how many are there, and of what', () => {
  const name = (sha: string | null) => `«${sha}»`;
  const format = (all: Backend[]) => formatConvergence(convergenceOf(all, new Set()), name);
  expect(format([backend('a', 'new'), backend('b', null)])).toBe('1 of 2 backends have applied «new»');
  const other = { ...backend('b', 'x'), desired_sha: 'x' };
  expect(format([backend('a', 'new'), other])).toBe('2 of 2 backends have applied what is desired of them');
  expect(format([])).toBe('no backend is active');
});
