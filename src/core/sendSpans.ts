import { type HrTime, type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { Authorities } from './certificateAuthorities.ts';
import { TransportError } from './http.rules.ts';
import { isObject } from './json.rules.ts';
import { createFetch } from './nodeClient.ts';
import type { Span, SpanSource } from './spans.rules.ts';

/** Where spans are sent. */
export interface Collector {
  /** URL that takes traces by OTLP/HTTP, `…/v1/traces` as a rule. */
  endpoint: string;
  /** Reads the trusted authorities; called for `https:` only. */
  readAuthorities: () => Authorities;
}

/**
 * Sends spans once, in bounded time. Resolves to null when the collector has taken all of them, else to the reason as a code;
 * never throws.
 */
export type SendSpans = (spans: readonly Span[]) => Promise<string | null>;

/** Milliseconds that a collector has to take what it is sent. */
export const SEND_TIME_MS = 5000;

/** Largest answer in bytes that is read. */
const MAX_ANSWER_BYTES = 65_536;

/** The sender of a program's spans. Throws what `readAuthorities` throws. */
export function createSendSpans({ endpoint, readAuthorities }: Collector, source: SpanSource): SendSpans {
  const authorities = endpoint.startsWith('https:') ? readAuthorities() : null;
  const fetch = createFetch(authorities, { maxBytes: MAX_ANSWER_BYTES, connectTimeoutMs: SEND_TIME_MS });
  const headers = { 'content-type': 'application/json', 'user-agent': `${source.program}/${source.version}` };
  return async (spans) => {
    try {
      const signal = AbortSignal.timeout(SEND_TIME_MS);
      const answer = await fetch(endpoint, { method: 'POST', headers, body: encodeSpans(spans, source), signal });
      return answer.ok ? await reasonIn(answer) : `HTTP_${answer.status}`;
    } catch (error) {
      return error instanceof TransportError ? error.code : 'UNKNOWN';
    }
  };
}

/** A collector may take some spans only, and says so in its answer. */
async function reasonIn(answer: Response): Promise<string | null> {
  const text = await answer.text();
  const { partialSuccess } = parseObject(text);
  const rejected = isObject(partialSuccess) ? Number(partialSuccess['rejectedSpans'] ?? 0) : 0;
  return rejected > 0 ? 'SPANS_REJECTED' : null;
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

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

/** How spans are gathered. */
export interface QueueBounds {
  /** Spans that wait at most; more are dropped. */
  size: number;
  /** Spans that are sent at once. */
  batch: number;
  /** Milliseconds that a span waits at most for others. */
  waitMs: number;
}

const defaultBounds: QueueBounds = { size: 2048, batch: 512, waitMs: 5000 };

/**
 * Sends spans in the background, one batch at a time. Spans that are rejected, or do not fit while the collector is
 * slow, are dropped and counted.
 */
export class SpanQueue {
  /** Spans by result. */
  readonly counts = { exported: 0, dropped: 0 };
  readonly #send: SendSpans;
  readonly #onChange: (reason: string | null) => void;
  readonly #bounds: QueueBounds;
  readonly #waiting: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  #reason: string | null = null;
  #isClosed = false;

  /** `onChange` gets the reason why spans are not accepted from now on, or null when they are accepted again. */
  constructor(send: SendSpans, onChange: (reason: string | null) => void, bounds: Partial<QueueBounds> = {}) {
    this.#send = send;
    this.#onChange = onChange;
    this.#bounds = { ...defaultBounds, ...bounds };
  }

  add(span: Span): void {
    if (this.#isClosed || this.#waiting.length >= this.#bounds.size) return void (this.counts.dropped += 1);
    this.#waiting.push(span);
    this.#schedule();
  }

  /** Sends a last batch of waiting spans; the rest, and spans that are added later, are dropped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#sending;
    if (this.#waiting.length > 0) await this.#sendBatch();
    this.counts.dropped += this.#waiting.splice(0).length;
  }

  #schedule(): void {
    if (this.#isClosed || this.#sending !== null || this.#waiting.length === 0) return;
    if (this.#waiting.length >= this.#bounds.batch) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), this.#bounds.waitMs).unref();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#sendBatch().finally(() => {
      this.#sending = null;
      this.#schedule();
    });
  }

  async #sendBatch(): Promise<void> {
    const spans = this.#waiting.splice(0, this.#bounds.batch);
    const reason = await this.#send(spans);
    this.counts[reason === null ? 'exported' : 'dropped'] += spans.length;
    if (reason !== this.#reason) this.#onChange(reason);
    this.#reason = reason;
  }
}
