import { diagnosisOf, formatMode, inapplicableCheck, unknownCheck, type Check } from './diagnosis.ts';
import { diagnosisJson, formatDiagnosis } from './formatDiagnosis.ts';

const check = (name: string, status: Check['status'], findings: Check['findings'] = []): Check => {
  return { name, status, detail: 'shown', findings };
};

it.each<[string, Check[], boolean, string[]]>([
  [
    'all is well',
    [check('a', 'passed'), check('long', 'not applicable')],
    true,
    ['a     well      shown', 'long  n/a       shown', '', 'all is well'],
  ],
  [
    'a fault, and a check that was not possible',
    [check('a', 'failed', [{ problem: 'x\x1b', fix: 'y' }]), check('b', 'unknown')],
    false,
    ['a  WRONG     shown', '   x ', '     fix: y', 'b  not seen  shown', '', '1 fault; not seen: b'],
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
    ['a  WRONG     shown', '   x', '     fix: y', '   z', '     fix: u', 'b  well      shown', '', '2 faults'],
  ],
  [
    'checks that were not possible',
    [check('a', 'unknown'), check('b', 'unknown')],
    false,
    ['a  not seen  shown', 'b  not seen  shown', '', 'nothing wrong was seen; not seen: a, b'],
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
