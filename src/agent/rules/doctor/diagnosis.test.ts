import { diagnosisOf, type Check } from './diagnosis.ts';
import { formatDiagnosis } from './formatDiagnosis.ts';

const check = (name: string, verdict: Check['verdict'], findings: Check['findings'] = []): Check => {
  return { name, verdict, told: 'told', findings };
};

it.each<[string, Check[], boolean, string[]]>([
  [
    'all is well',
    [check('a', 'well'), check('long', 'not applicable')],
    true,
    ['a     well      told', 'long  n/a       told', '', 'all is well'],
  ],
  [
    'a fault, and a check that was not possible',
    [check('a', 'wrong', [{ what: 'x\x1b', fix: 'y' }]), check('b', 'unseen')],
    false,
    ['a  WRONG     told', '   x ', '     fix: y', 'b  not seen  told', '', '1 fault; not seen: b'],
  ],
  [
    'several faults',
    [
      check('a', 'wrong', [
        { what: 'x', fix: 'y' },
        { what: 'z', fix: 'u' },
      ]),
      check('b', 'well'),
    ],
    false,
    ['a  WRONG     told', '   x', '     fix: y', '   z', '     fix: u', 'b  well      told', '', '2 faults'],
  ],
  [
    'checks that were not possible',
    [check('a', 'unseen'), check('b', 'unseen')],
    false,
    ['a  not seen  told', 'b  not seen  told', '', 'nothing wrong was seen; not seen: a, b'],
  ],
])('ends with a summary: %s', (_name, checks, well, lines) => {
  expect(diagnosisOf(checks)).toEqual({ well, checks });
  expect(formatDiagnosis({ well, checks }).split('\n')).toEqual(lines);
});
