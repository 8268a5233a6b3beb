import type { SendSpans } from './sendSpans.ts';
import type { Span } from './spans.rules.ts';

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
