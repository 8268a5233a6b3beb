import { SpanKind, SpanStatusCode, TraceFlags, type HrTime, type SpanContext } from '@opentelemetry/api';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { Span, SpanSource } from './span.ts';

/** A span as the SDK's serializer reads it. */
type ReadableSpan = Parameters<typeof JsonTraceSerializer.serializeRequest>[0][number];

/** The spans of one program as an export request of OTLP in JSON. */
export function encodeSpans(spans: readonly Span[], { program, version, attributes }: SpanSource): Uint8Array {
  // the serializer reads nothing else of a resource
  const resource: Partial<ReadableSpan['resource']> = {
    attributes: { 'service.name': program, 'service.version': version, ...attributes },
  };
  const common = {
    resource: resource as ReadableSpan['resource'],
    instrumentationScope: { name: program, version },
    ...{ links: [], ended: true, droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  };
  const request = JsonTraceSerializer.serializeRequest(spans.map((span) => ({ ...common, ...readableSpanOf(span) })));
  if (request === undefined) throw new Error('spans could not be encoded');
  return request;
}

function readableSpanOf(span: Span) {
  const { traceId, parentSpanId, name, kind, startMs, durationMs, attributes, events, error } = span;
  const contextOf = (spanId: string): SpanContext => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED });
  return {
    ...{ name, attributes },
    kind: kind === 'server' ? SpanKind.SERVER : SpanKind.INTERNAL,
    spanContext: () => contextOf(span.spanId),
    ...(parentSpanId !== null && {
      parentSpanContext: { ...contextOf(parentSpanId), isRemote: kind === 'server' },
    }),
    startTime: timeOf(startMs),
    endTime: timeOf(startMs + durationMs),
    duration: timeOf(durationMs),
    status: error === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
    events: events.map((event) => ({ name: event.name, time: timeOf(event.atMs), attributes: event.attributes })),
  };
}

/** Seconds and nanoseconds. */
function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
