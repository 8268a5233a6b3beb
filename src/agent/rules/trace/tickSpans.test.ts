import { parseTraceparent } from '../../../protocol/traceContext.ts';
import { tickSpans, traceparentOf } from './tickSpans.ts';
import type { Decision, RecordedDecision, Step, Trace } from './trace.ts';

const tick = '6b9f0b5c-1111-4111-b222-fffffffffffe';
const traceId = '6b9f0b5c11114111b222fffffffffffe';
const startMs = Date.parse('2026-11-26T08:00:00.000Z');

const step = (machine: string, state: string, at_ms: number, ms: number): Step => ({
  ...{ machine, state, on: 'x', at_ms, ms },
});
const decided = (decision: Decision, state: string, at_ms: number): RecordedDecision => ({ ...decision, state, at_ms });
const steps = [
  ...[step('tick', 'checkingIn', 5, 10), step('tick', 'applying', 15, 80), step('apply', 'pulling', 16, 50)],
  ...[step('apply', 'reverting', 66, 20), step('tick', 'reporting', 95, 4)],
];

function traceOf(more: Partial<Trace> = {}): Trace {
  return {
    ...{ schema: 1, tick, version: '0.2.0', env: 'eu-1', intent: 'tick', started_at: '2026-11-26T08:00:00.000Z' },
    ...{ ms: 100, ending: 'failed', exit: 1, codes: ['PULL_FAILED'], steps, decisions: [], ...more },
  };
}

const names = (spans: ReturnType<typeof tickSpans>) =>
  Object.fromEntries(spans.map(({ spanId, name }) => [spanId, name]));

describe('a tick as spans (spec §21.2)', () => {
  it('has its id as the id of the trace', () => {
    expect(new Set(tickSpans(traceOf()).map((span) => span.traceId))).toEqual(new Set([traceId]));
  });

  it('begins with the tick and its outcome', () => {
    expect(tickSpans(traceOf())[0]).toEqual({
      ...{ traceId, spanId: 'b222fffffffffffe', parentSpanId: null, name: 'tick', kind: 'internal' },
      ...{ startMs, durationMs: 100, events: [], error: 'PULL_FAILED' },
      attributes: {
        ...{ 'deployd.outcome': 'failed', 'deployd.exit': 1, 'deployd.codes': ['PULL_FAILED'] },
        'deployd.intent': 'tick',
      },
    });
  });

  it.each<[Partial<Trace>, string | null]>([
    [{ ending: 'converged', exit: 0, codes: [] }, null],
    [{ ending: 'busy', exit: 75, codes: [] }, 'busy'],
    [{ ending: 'refused', exit: 1, codes: ['A', 'B'] }, 'A'],
  ])('%j has the error %j', (outcome, error) => {
    expect(tickSpans(traceOf(outcome))[0]!.error).toBe(error);
  });

  it('has each state below the tick, or below the state of the tick that runs its machine', () => {
    const spans = tickSpans(traceOf());
    const nameOf = names(spans);
    expect(Object.keys(nameOf)).toHaveLength(6);
    expect(spans.slice(1).map((span) => [span.name, nameOf[span.parentSpanId!]])).toEqual([
      ['checkingIn', 'tick'],
      ['applying', 'tick'],
      ['pulling', 'applying'],
      ['reverting', 'applying'],
      ['reporting', 'tick'],
    ]);
  });

  it('has the times of the states', () => {
    expect(tickSpans(traceOf())[3]).toMatchObject({
      ...{ name: 'pulling', startMs: startMs + 16, durationMs: 50, error: null },
      attributes: { 'deployd.machine': 'apply', 'deployd.event': 'x' },
    });
  });

  it('has each decision once, where it was made, else at the tick', () => {
    const twice = [step('tick', 'checkingIn', 0, 10), step('tick', 'checkingIn', 10, 10)];
    const decisions = [
      decided({ word: 'downloaded', bytes: 7 }, 'checkingIn', 10),
      decided({ word: 'desired', action: 'none', desired: null, applied: null, reason: '' }, 'gone', 12),
    ];
    expect(tickSpans(traceOf({ steps: twice, decisions })).map(({ events }) => events)).toEqual([
      [{ name: 'desired', atMs: startMs + 12, attributes: { 'deployd.action': 'none', 'deployd.reason': '' } }],
      [],
      [{ name: 'downloaded', atMs: startMs + 10, attributes: { 'deployd.bytes': 7 } }],
    ]);
  });
});

it('a call joins the span of the state in which it is made (spec §21.3)', () => {
  const spans = tickSpans(traceOf());
  for (const [number, { spanId }] of spans.entries())
    expect(parseTraceparent(traceparentOf(tick, number))).toEqual({ traceId, spanId, isSampled: true });
});

it('an id of a span that overflows has 16 digits still', () => {
  const all = '6b9f0b5c-1111-4111-ffff-ffffffffffff';
  expect(traceparentOf(all, 2)).toBe('00-6b9f0b5c11114111ffffffffffffffff-0000000000000001-01');
});
