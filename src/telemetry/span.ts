/** A value of an attribute. */
export type AttributeValue = string | number | boolean | string[];
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** A stretch of work in a trace, as OpenTelemetry tells it. */
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

/** The program that spans are of, and the attributes that tell where it runs. */
export interface SpanSource {
  program: string;
  version: string;
  attributes: Attributes;
}
