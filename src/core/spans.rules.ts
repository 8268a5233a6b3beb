/** A value of an attribute. */
export type AttributeValue = string | number | boolean | string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** A piece of work in a trace, in the terms of OpenTelemetry. */
export interface Span {
  /** 32 hexadecimal digits, not all 0. */
  traceId: string;
  /** 16 hexadecimal digits, not all 0. */
  spanId: string;
  /** Null for the first span of a trace. */
  parentSpanId: string | null;
  name: string;
  /** `server` for the answer to a call. */
  kind: 'internal' | 'server';
  /** Milliseconds since 1970. */
  startMs: number;
  durationMs: number;
  attributes: Attributes;
  events: readonly SpanEvent[];
  /** Why the work failed, as a code; null where it did not. */
  error: string | null;
}

/** Something that happened within a span. */
export interface SpanEvent {
  name: string;
  /** Milliseconds since 1970. */
  atMs: number;
  attributes: Attributes;
}

/** The program of the spans, and the attributes that describe where it runs. */
export interface SpanSource {
  program: string;
  version: string;
  attributes: Attributes;
}

/** The span of a trace that a call belongs to. */
interface TraceContext {
  /** 32 hexadecimal digits, not all 0. */
  traceId: string;
  /** 16 hexadecimal digits, not all 0. */
  spanId: string;
  /** False where the caller does not keep this trace. */
  isSampled: boolean;
}

/** The header `traceparent` of a call (W3C Trace Context) that belongs to a kept span. */
export function formatTraceparent({ traceId, spanId }: Pick<TraceContext, 'traceId' | 'spanId'>): string {
  return `00-${traceId}-${spanId}-01`;
}

/** The content of a header `traceparent`; null without one, and for values that the standard ignores. */
export function parseTraceparent(header: string | string[] | undefined): TraceContext | null {
  const [, version, traceId = '', spanId = '', flags = '', rest] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(String(header)) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) !== 0 };
}

const sampledFlag = 1;
