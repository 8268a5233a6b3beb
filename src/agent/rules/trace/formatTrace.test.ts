import { saidBy, type Decision, type RecordedDecision, type Step, type Trace } from './trace.ts';
import { formatTraceLine, formatTrace } from './formatTrace.ts';

const [one, two] = ['1'.repeat(64), '2'.repeat(64)];
const tick = '6b9f0b5c-0000-4000-8000-000000000000';

function traceOf(more: Partial<Trace> = {}): Trace {
  return {
    ...{ schema: 1, tick, version: '0.2.0', env: 'eu-1', intent: 'tick', started_at: '2026-11-21T15:00:00.000Z' },
    ...{ ms: 4000, ending: 'applied', exit: 0, codes: [], steps: [], decisions: [], ...more },
  };
}

const step = (machine: string, state: string, at_ms: number, ms: number): Step => ({
  machine,
  state,
  on: 'x',
  at_ms,
  ms,
});
const desired = (reason: string): Decision => ({
  word: 'desired',
  action: 'apply',
  desired: two,
  applied: one,
  reason,
});
const noted = (decision: Decision, state = 'checkingIn', at_ms = 0): RecordedDecision => ({
  ...decision,
  state,
  at_ms,
});

describe('the text of a trace', () => {
  it('shows the ending, the reasons, the slowest states and the timeline', () => {
    const steps = [
      ...[step('tick', 'checkingIn', 0, 40), step('tick', 'deciding', 40, 0), step('tick', 'applying', 40, 3900)],
      ...[step('apply', 'pulling', 41, 3000), step('tick', 'applied', 4000, 0)],
    ];
    expect(formatTrace(traceOf({ steps, decisions: [noted(desired('sha_changed'), 'checkingIn', 40)] }))).toBe(
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

  it('shows what failed, with its last output', () => {
    const said = saidBy({ lines: ['UP_FAILED: a', 'b\u001b[1m'], tail: `${'x\n'.repeat(30)}\nlast\n` });
    expect(said).toHaveLength(22);
    expect(formatTrace(traceOf({ ending: 'failed', exit: 1, said }))).toMatch(
      /\n\nWhat failed\n {2}UP_FAILED: a\n {2}b\ufffd\[1m\n {2}\| x\n[^]*\n {2}\| last\n\n/,
    );
    expect(saidBy({ lines: ['y'.repeat(900)], tail: null })).toEqual(['y'.repeat(500)]);
  });

  it('names the journal after a failure, and no reason without a decision', () => {
    const trace = traceOf({ ending: 'busy', exit: 75, ms: 0, steps: [step('tick', 'acquiringLock', 0, 0)] });
    expect(formatTrace(trace).split('\n').slice(1)).toEqual([
      ...['busy after 0 ms, exit 75: another tick holds the lock', ''],
      ...['Longest', '  acquiringLock 0 ms (0 %)', ''],
      ...['Way', '     0 ms  acquiringLock                  0 ms', ''],
      `All it said: journalctl -u deployd.service | grep tick=${tick}`,
    ]);
  });

  it.each<[string, Step[], string]>([
    [
      'at most three, the slowest first',
      [step('tick', 'a', 0, 1), step('tick', 'b', 1, 40), step('tick', 'c', 41, 20), step('tick', 'd', 61, 30)],
      'b 40 ms (1 %), d 30 ms (1 %), c 20 ms (1 %)',
    ],
    [
      'none that are left at once',
      ['selectingCredential', 'deciding', 'classifyingFault', 'decidingPrune', 'selectingEnding', 'done', 'down'].map(
        (state) => step('tick', state, 0, 9),
      ),
      '',
    ],
    [
      'none that run another machine, from its first to its last step',
      [
        ...[step('tick', 'applying', 10, 80), step('apply', 'pulling', 10, 80)],
        ...[step('tick', 'applying', 100, 90), step('apply', 'reverting', 190, 20)],
        ...[step('tick', 'takingDown', 200, 90), step('down', 'stopping', 201, 60)],
      ],
      'pulling 80 ms (2 %), stopping 60 ms (2 %), reverting 20 ms (1 %)',
    ],
    [
      'one in which no other machine ran',
      [
        ...[step('apply', 'early', 9, 10), step('tick', 'applying', 10, 90), step('apply', 'late', 101, 20)],
        ...[step('tick', 'checkingIn', 10, 30)],
      ],
      'applying 90 ms (2 %), checkingIn 30 ms (1 %), late 20 ms (1 %)',
    ],
    [
      'every other state, although another machine runs at the time',
      [step('tick', 'watching', 0, 90), step('loop', 'pulling', 1, 80), step('apply', 'applying', 0, 70)],
      'watching 90 ms (2 %), pulling 80 ms (2 %), applying 70 ms (2 %)',
    ],
  ])('shows of the slowest states %s', (_name, steps, slowest) => {
    expect(formatTrace(traceOf({ steps }))).toContain(`\nLongest\n  ${slowest}\n\nWay`);
  });

  it('shows each decision below the state in which it was made', () => {
    const steps = [step('tick', 'checkingIn', 10, 5), step('tick', 'checkingIn', 20, 5)];
    const decisions = [9, 10, 15, 16, 19, 25].map((at_ms) =>
      noted({ word: 'downloaded', bytes: at_ms }, 'checkingIn', at_ms),
    );
    const other = noted({ word: 'not-reverted' }, 'applying', 12);
    expect(formatTrace(traceOf({ steps, decisions: [...decisions, other] })).split('\nWay\n')[1]).toBe(
      [
        '    10 ms  checkingIn                     5 ms',
        '               → 10 bytes of the bundle arrived',
        '               → 15 bytes of the bundle arrived',
        '    20 ms  checkingIn                     5 ms',
        '               → 25 bytes of the bundle arrived',
      ].join('\n'),
    );
  });

  it.each([
    [999, '999 ms'],
    [1000, '1.0 s'],
    [119_949, '119.9 s'],
    [120_000, '2 min 0 s'],
    [179_499, '2 min 59 s'],
    [179_500, '3 min 0 s'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(formatTrace(traceOf({ ms })).split('\n')[1]).toMatch(`applied after ${text}, `);
  });
});

describe('the line of a trace', () => {
  it.each<[Partial<Trace>, string]>([
    [
      { ending: 'refused', codes: ['ENV_INCOMPLETE'], decisions: [noted(desired('retry:2'))] },
      'refused ENV_INCOMPLETE: 222222222222 is tried again, failed tries so far: 2 …',
    ],
    [
      { ending: 'failed', codes: ['PULL_FAILED', 'B'] },
      'failed: PULL_FAILED: an image cannot be had from its registry …',
    ],
    [
      { ending: 'failed', codes: ['A', 'B'], decisions: [noted(desired('retired'))] },
      'failed A, B: the backend is retired, so the project goes down …',
    ],
    [{ ending: 'failed', codes: ['UP_FAILED'] }, 'failed: UP_FAILED: docker compose up failed'],
    [{ ending: 'bootstrapped', intent: 'bootstrap' }, 'bootstrap bootstrapped: '],
  ])('%j', (more, text) => {
    expect(formatTraceLine(traceOf(more))).toBe(`2026-11-21T15:00:00Z  6b9f0b5c    4.0 s  ${text}`);
  });
});
