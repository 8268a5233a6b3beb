import type { Authorities } from '../platform/certificateAuthorities.ts';
import { TransportError } from '../platform/http/transportError.ts';
import { createFetch } from '../platform/http/trustingFetch.ts';
import { isObject } from '../protocol/jsonFields.ts';
import { encodeSpans } from './encodeSpans.ts';
import type { Span, SpanSource } from './span.ts';

/** Where spans are sent. */
export interface Collector {
  /** URL that takes traces by OTLP/HTTP, `…/v1/traces` as a rule. */
  endpoint: string;
  /** Reads whom to trust; called for `https:` only. */
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

/** What sends the spans of a program. Throws what `readAuthorities` throws. */
export function createSendSpans({ endpoint, readAuthorities }: Collector, source: SpanSource): SendSpans {
  const authorities = endpoint.startsWith('https:') ? readAuthorities() : null;
  const fetch = createFetch(authorities, MAX_ANSWER_BYTES);
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
