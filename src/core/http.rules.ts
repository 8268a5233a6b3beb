import { isObject } from './json.rules.ts';
import type { Untrusted } from './untrusted.rules.ts';

/** Code and message of an error body, in the format of the tenancy service or of the secretstore; null where missing. */
export function parseErrorBody(json: unknown): { code: string | null; text: string | null } {
  if (!isObject(json)) return { code: null, text: null };
  if (Array.isArray(json.errors)) {
    const messages = json.errors.filter((message) => typeof message === 'string');
    return { code: null, text: toSingleLine(messages.join('; ')) };
  }
  if (!isObject(json.error)) return { code: null, text: null };
  const { code, message } = json.error;
  return {
    code: typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : null,
    text: typeof message === 'string' ? toSingleLine(message) : null,
  };
}

/**
 * A server's text as one journal line: without control characters, at most 300 characters, null when it is empty.
 * It is truncated between words only, because the redaction would not recognize half of a secret.
 */
export function toSingleLine(text: string): string | null {
  const words = text.split(/[\s\p{C}]/u).filter((word) => word !== '');
  let line = '';
  for (const word of words) {
    if (line.length + word.length >= maxMessageCharacters) return `${line} …`.trimStart();
    line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? null : line;
}

const maxMessageCharacters = 300;

/**
 * Seconds of a Retry-After header, a number or a date. The date is relative to the response's Date header, or to this host's
 * clock without one. Null when the header is absent or invalid.
 */
export function parseRetryAfter(headers: RetryAfterHeaders, nowMs: number): number | null {
  const { 'retry-after': retryAfter, date } = headers;
  if (retryAfter === undefined) return null;
  if (/^\d{1,9}$/.test(retryAfter.trim())) return Number(retryAfter);
  const dateMs = Date.parse(retryAfter);
  return Number.isNaN(dateMs) ? null : Math.max(0, (dateMs - (Date.parse(date ?? '') || nowMs)) / 1000);
}

/** The response headers that determine the retry time. */
interface RetryAfterHeaders {
  'retry-after'?: string | undefined;
  date?: string | undefined;
}

/**
 * True for a status by which a node of Vault refuses a call that another node, or the same one soon, will answer. Its
 * data lags behind (412), or it is a standby of a cluster for disaster recovery (472) or performance (473).
 */
export function isLaggingNode(status: number): boolean {
  return status === 412 || status === 472 || status === 473;
}

/** A call without a usable response; it holds nothing of the request. */
export class TransportError extends Error {
  /** A code of node:net or node:tls, or `TOO_LARGE`, `INVALID_PATH`, `UNKNOWN`. */
  readonly code: string;
  /** Why the certificate is not trusted, for a code that says so. */
  readonly untrusted: Untrusted | null;

  constructor(code: string, untrusted: Untrusted | null = null) {
    super(untrusted?.problem ?? code);
    this.name = 'TransportError';
    this.code = code;
    this.untrusted = untrusted;
  }
}

/** True for a host name of a URL that never leaves this host: `localhost`, 127.0.0.0/8 and `[::1]`. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
}
