import { codesOf, isQuiet, parseTrace, type Decision, type RecordedDecision, type Trace } from './trace.ts';
import { reasonsOf } from './reasons.ts';
import { formatTraceLine, formatTrace } from './formatTrace.ts';

const [one, two] = ['1'.repeat(64), '2'.repeat(64)];
const tick = '6b9f0b5c-0000-4000-8000-000000000000';

function traceOf(more: Partial<Trace> = {}): Trace {
  return {
    ...{ schema: 1, tick, version: '0.2.0', env: 'eu-1', intent: 'tick', started_at: '2026-11-21T15:00:00.000Z' },
    ...{ ms: 4000, ending: 'applied', exit: 0, codes: [], steps: [], decisions: [], ...more },
  };
}

const noted = (...decisions: Decision[]): RecordedDecision[] =>
  decisions.map((each, at_ms) => ({ ...each, state: 'checkingIn', at_ms }));
const ordered = (reason: string, more: object = {}): Decision => ({
  ...{ word: 'ordered', action: 'apply', desired: two, applied: one, reason },
  ...more,
});

describe('a trace', () => {
  it('is shown with its ending, its reasons, the slowest states and the timeline', () => {
    const steps = [
      { machine: 'tick', state: 'checkingIn', on: 'x', at_ms: 0, ms: 40 },
      { machine: 'tick', state: 'deciding', on: 'x', at_ms: 40, ms: 0 },
      { machine: 'tick', state: 'applying', on: 'x', at_ms: 40, ms: 3900 },
      { machine: 'apply', state: 'pulling', on: 'x', at_ms: 41, ms: 3000 },
      { machine: 'tick', state: 'applied', on: 'x', at_ms: 4000, ms: 0 },
    ];
    const decisions = [{ ...ordered('sha_changed'), state: 'checkingIn', at_ms: 40 }];
    expect(formatTrace(traceOf({ steps, decisions }))).toBe(
      [
        `tick ${tick} of env eu-1, 2026-11-21T15:00:00.000Z, deployd 0.2.0`,
        'applied after 4.0 s, exit 0: the desired bundle is in force and healthy',
        '',
        'Why',
        '  the wanted bundle changed from 111111111111 to 222222222222',
        '',
        'Longest',
        '  pulling 3.0 s (75 %), checkingIn 40 ms (1 %)',
        '',
        'Way',
        '     0 ms  checkingIn                    40 ms',
        '               → the wanted bundle changed from 111111111111 to 222222222222',
        '    40 ms  applying                      3.9 s',
        '    41 ms    pulling                     3.0 s',
      ].join('\n'),
    );
  });

  it('is one line in a list', () => {
    const trace = traceOf({
      ending: 'refused',
      exit: 1,
      codes: ['ENV_INCOMPLETE'],
      decisions: noted(ordered('retry:2')),
    });
    expect(formatTraceLine(trace)).toBe(
      '2026-11-21T15:00:00Z  6b9f0b5c    4.0 s  refused ENV_INCOMPLETE: 222222222222 is tried again, failed tries so far: 2 …',
    );
  });

  it.each<[string, Partial<Trace>, string[]]>([
    ['nothing', { ending: 'converged', decisions: noted(ordered('', { action: 'none' })) }, ['nothing new is wanted']],
    [
      'a first bundle',
      { decisions: noted(ordered('sha_changed', { applied: null })) },
      ['the wanted bundle is 222222222222, and none was applied'],
    ],
    [
      'a bundle that was cut short',
      { decisions: noted(ordered('resume:starting')) },
      ['an apply of 222222222222 that was cut short goes on (starting)'],
    ],
    [
      'a retired backend',
      { ending: 'down', decisions: noted(ordered('retired', { action: 'down' })) },
      ['the backend is retired, so the project goes down'],
    ],
    [
      'a service that was not reached, on a laptop too',
      {
        ending: 'offlineLaptop',
        decisions: noted(...Array<Decision>(2).fill({ word: 'troubled', peer: 'secretstore', error: 'HTTP_503' })),
      },
      ['secretstore: HTTP_503, 2 times'],
    ],
    [
      'a pull that failed',
      { ending: 'failed', codes: ['PULL_FAILED'], decisions: noted({ word: 'put-back', sha: null }) },
      ['PULL_FAILED: docker compose pull failed', 'no container was touched; in force is again nothing'],
    ],
    ['a code without an explanation', { ending: 'failed', codes: ['BRAND_NEW'] }, ['BRAND_NEW']],
  ])('has a reason: %s', (_name, more, reasons) => {
    expect(reasonsOf(traceOf(more))).toEqual(reasons);
  });

  it.each<[boolean, Partial<Trace>]>([
    [true, { ending: 'converged', decisions: noted(ordered('', { action: 'none' })) }],
    [false, { ending: 'converged', decisions: noted(ordered('drift:web', { action: 'none' })) }],
    [false, { ending: 'converged', decisions: noted(ordered(''), { word: 'leased-anew' }) }],
    [false, { ending: 'offline' }],
  ])('is quiet (%s) only when it converged and nothing happened', (quiet, more) => {
    expect(isQuiet(traceOf(more))).toBe(quiet);
  });

  it('is parsed as it was written, and any other text is rejected', () => {
    expect(parseTrace(JSON.stringify(traceOf()))).toEqual(traceOf());
    for (const text of ['', 'null', '[]', '{"schema":2}', JSON.stringify({ ...traceOf(), ending: 'toString' })])
      expect(parseTrace(text)).toBeNull();
  });

  it('contains the code of every refusal, or the code of a failure', () => {
    expect(codesOf({ code: 'A_B', lines: ['refused: A_B: x', 'refused: C_D: y'] })).toEqual(['A_B', 'C_D']);
    expect(codesOf({ code: 'UP_FAILED', lines: ['failed: refused: X: y'] })).toEqual(['UP_FAILED']);
    expect(codesOf({ code: null, lines: [] })).toEqual([]);
  });
});
