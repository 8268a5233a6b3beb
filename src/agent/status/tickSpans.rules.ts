import {
  type Attributes,
  type AttributeValue,
  formatTraceparent,
  type Span,
  type SpanEvent,
} from '../../core/spans.rules.ts';
import { type RecordedDecision, type Step, type Trace, wasMadeIn } from '../journal/trace.rules.ts';

/**
 * A tick as the spans of a trace (spec §21.2): one for the tick, and one for each state below the state that ran its
 * machine, with the decisions in that state. It contains only data of the trace.
 */
export function tickSpans(trace: Trace): Span[] {
  const { steps, decisions, ms, ending, exit, codes, intent } = trace;
  const owners = decisions.map((each) => steps.findLastIndex((step) => wasMadeIn(step, each)) + 1);
  const spanOf = (number: number, fields: Pick<Span, 'name' | 'durationMs' | 'attributes'>): Span => ({
    ...{ traceId: traceIdOf(trace.tick), spanId: spanIdOf(trace.tick, number), kind: 'internal', error: null },
    ...{ parentSpanId: spanIdOf(trace.tick, 0), startMs: Date.parse(trace.started_at), ...fields },
    events: decisions.flatMap((each, index) => (owners[index] === number ? [eventOf(trace, each)] : [])),
  });
  const outcome = { 'deployd.outcome': ending, 'deployd.exit': exit, 'deployd.codes': codes, 'deployd.intent': intent };
  return [
    {
      ...spanOf(0, { name: 'tick', durationMs: ms, attributes: outcome }),
      ...{ parentSpanId: null, error: exit === 0 ? null : (codes[0] ?? ending) },
    },
    ...steps.map((step, index) => ({
      ...spanOf(index + 1, { name: step.state, durationMs: step.ms, attributes: attributesOf(step) }),
      parentSpanId: spanIdOf(trace.tick, parentNumberOf(steps, index)),
      startMs: Date.parse(trace.started_at) + step.at_ms,
    })),
  ];
}

/** The header by which a call made in the n-th state of a tick joins its trace. */
export function traceparentOf(tick: string, number: number): string {
  return formatTraceparent({ traceId: traceIdOf(tick), spanId: spanIdOf(tick, number) });
}

/** The id of a tick without its hyphens, which are 16 bytes in hexadecimal as a trace's. */
function traceIdOf(tick: string): string {
  return tick.replaceAll('-', '');
}

/** The id of the span of the tick (0) or of its n-th state: the last half of the tick's id plus the number. */
function spanIdOf(tick: string, number: number): string {
  const half = BigInt(`0x${traceIdOf(tick).slice(16)}`);
  return BigInt.asUintN(64, half + BigInt(number))
    .toString(16)
    .padStart(16, '0');
}

/** The state of the tick that another machine runs in; a state of the tick belongs to the tick itself. */
function parentNumberOf(steps: readonly Step[], index: number): number {
  if (steps[index]?.machine === 'tick') return 0;
  return steps.slice(0, index).findLastIndex(({ machine }) => machine === 'tick') + 1;
}

function attributesOf({ machine, on }: Step): Attributes {
  return { 'deployd.machine': machine, 'deployd.event': on };
}

function eventOf({ started_at }: Trace, decision: RecordedDecision): SpanEvent {
  const attributes = Object.entries<AttributeValue | null>(decision).flatMap(([name, value]) =>
    value === null || ownFields.has(name) ? [] : [[`deployd.${name}`, value] as const],
  );
  return {
    name: decision.word,
    atMs: Date.parse(started_at) + decision.at_ms,
    attributes: Object.fromEntries(attributes),
  };
}

/** Fields of a decision that its event contains in another form. */
const ownFields = new Set(['word', 'state', 'at_ms']);
