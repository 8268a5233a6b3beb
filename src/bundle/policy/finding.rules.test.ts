import { refusalsOf } from './finding.rules.ts';

const finding = (code: 'COMPOSE_REFUSED' | 'PRIVILEGED_REFUSED', text: string) => ({ code, text, cure: '' });

const fault = (text: string) => ({ text, cure: '' });

describe('the refusals of findings', () => {
  it('are one for each code, with every distinct finding', () => {
    const findings = [
      finding('PRIVILEGED_REFUSED', 'a'),
      finding('COMPOSE_REFUSED', 'b'),
      finding('COMPOSE_REFUSED', 'b'),
      finding('COMPOSE_REFUSED', 'c'),
    ];
    expect(refusalsOf(findings)).toEqual([
      { code: 'COMPOSE_REFUSED', detail: 'b; c', faults: ['b', 'c'].map(fault) },
      { code: 'PRIVILEGED_REFUSED', detail: 'a', faults: [fault('a')] },
    ]);
    expect(refusalsOf([])).toEqual([]);
  });

  it.each([
    [200, 'f199'],
    [202, 'f199; and 2 more'],
  ])('list two hundred of %s findings and count the rest', (count, end) => {
    const findings = Array.from({ length: count }, (_, at) => finding('COMPOSE_REFUSED', `f${at}`));
    const listed = Array.from({ length: 199 }, (_, at) => `f${at}`);
    expect(refusalsOf(findings)).toMatchObject([{ code: 'COMPOSE_REFUSED', detail: [...listed, end].join('; ') }]);
  });
});
