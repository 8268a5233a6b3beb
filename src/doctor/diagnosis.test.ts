import { diagnosisOf, formatMode, inapplicableCheck, unknownCheck, type Check } from './diagnosis.ts';
import { diagnosisJson, formatDiagnosis } from './formatDiagnosis.ts';

const check = (name: string, status: Check['status'], findings: Check['findings'] = []): Check => {
  return { name, status, detail: 'shown', findings };
};

it.each<[string, Check[], boolean, string[]]>([
  [
    'all checks passed',
    [check('a', 'passed'), check('long', 'not applicable')],
    true,
    ['a     ok       shown', 'long  n/a      shown', '', 'all checks passed'],
  ],
  [
    'a fault, and a check that was not possible',
    [check('a', 'failed', [{ problem: 'x\x1b', fix: 'y' }]), check('b', 'unknown')],
    false,
    ['a  FAIL     shown', '   x ', '     fix: y', 'b  unknown  shown', '', '1 fault; unknown: b'],
  ],
  [
    'several faults',
    [
      check('a', 'failed', [
        { problem: 'x', fix: 'y' },
        { problem: 'z', fix: 'u' },
      ]),
      check('b', 'passed'),
    ],
    false,
    ['a  FAIL     shown', '   x', '     fix: y', '   z', '     fix: u', 'b  ok       shown', '', '2 faults'],
  ],
  [
    'checks that were not possible',
    [check('a', 'unknown'), check('b', 'unknown')],
    false,
    ['a  unknown  shown', 'b  unknown  shown', '', 'no faults found; unknown: a, b'],
  ],
])('ends with a summary: %s', (_name, checks, passed, lines) => {
  expect(diagnosisOf(checks)).toEqual({ passed, checks });
  expect(formatDiagnosis({ passed, checks }).split('\n')).toEqual(lines);
});

it('keeps the words of the contract in JSON', () => {
  const checks = [check('a', 'passed'), check('b', 'failed', [{ problem: 'x', fix: 'y' }]), check('c', 'unknown')];
  expect(diagnosisJson(diagnosisOf([...checks, check('d', 'not applicable')]))).toBe(
    JSON.stringify(
      {
        well: false,
        checks: [
          { name: 'a', verdict: 'well', told: 'shown', findings: [] },
          { name: 'b', verdict: 'wrong', told: 'shown', findings: [{ what: 'x', fix: 'y' }] },
          { name: 'c', verdict: 'unseen', told: 'shown', findings: [] },
          { name: 'd', verdict: 'not applicable', told: 'shown', findings: [] },
        ],
      },
      null,
      2,
    ),
  );
});

it('finds nothing where it could not look, or need not', () => {
  expect(unknownCheck('a', 'away')).toEqual({ name: 'a', status: 'unknown', detail: 'away', findings: [] });
  expect(inapplicableCheck('a', 'none')).toEqual({ name: 'a', status: 'not applicable', detail: 'none', findings: [] });
});

it.each([
  [0o7, '0007'],
  [0o100_644, '0644'],
  [0o104_755, '0755'],
])('shows who may use a file: %#', (mode, text) => {
  expect(formatMode(mode)).toBe(text);
});
