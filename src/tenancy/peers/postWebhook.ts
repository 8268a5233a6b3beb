import { lookup as resolve } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { type Authorities, createTlsContext, untrustedOf } from '../../core/certificateAuthorities.ts';
import { createAgents } from '../../core/connector.ts';
import { parseRetryAfter } from '../../core/http.rules.ts';
import { open } from '../../core/nodeClient.ts';
import type { Untrusted } from '../../core/untrusted.rules.ts';
import { type AddressPolicy, isAllowedAddress, isAllowedHost, policyFor } from './addressPolicy.rules.ts';

/** One request to a webhook. */
interface WebhookPost {
  url: URL;
  headers: Record<string, string>;
  body: string;
  /** Largest number of bytes to read of the answer's body; 0 for none. */
  answerBytes: number;
  signal: AbortSignal;
}

/**
 * Result of one request to a webhook: the status, the seconds that the endpoint asks to wait (or null) and the part of
 * the body that was read. Without an answer, the reason: a code of node:net or node:tls, `ADDRESS_FORBIDDEN` or
 * `TIMEOUT`.
 */
type WebhookAnswer =
  { status: number; retryAfterS: number | null; body: string } | { status: null; code: string; untrusted?: Untrusted };

/**
 * Sends a request to a webhook once. Follows no redirect, and reads only the head and `answerBytes` of an answer; never
 * throws.
 */
export type PostWebhook = (post: WebhookPost) => Promise<WebhookAnswer>;

/** Settings of all webhooks. */
export interface WebhookTransport {
  authorities: Authorities;
  /** Milliseconds from the look-up of the address until the answer is read. */
  timeoutMs: number;
  /** Whether loopback, private and shared addresses are allowed. */
  allowsPrivate: boolean;
}

/** Largest head of an answer, in bytes. */
const MAX_HEAD_BYTES = 16_384;

/** Returns the function that sends webhooks, each over a separate connection. */
export function createPostWebhook({ authorities, timeoutMs, allowsPrivate }: WebhookTransport): PostWebhook {
  const trust = { context: createTlsContext(authorities) };
  const agents = createAgents(trust, { connectTimeoutMs: timeoutMs, keepAlive: false });
  return async ({ url, headers, body, answerBytes, signal }) => {
    const policy = policyFor(url, allowsPrivate);
    // An address needs no look-up, so check it here.
    if (!isAllowedHost(url, policy)) return { status: null, code: FORBIDDEN };
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await open({
        ...{ url, method: 'POST', headers, body, agents, signal: AbortSignal.any([signal, timeout]) },
        ...{ lookup: lookupWithin(policy), maxHeadBytes: MAX_HEAD_BYTES },
      });
      const read = await bodyOf(answer.body, answerBytes);
      return { status: answer.status, retryAfterS: parseRetryAfter(answer.headers, Date.now()), body: read };
    } catch (error) {
      const untrusted = untrustedOf(error);
      return { status: null, code: timeout.aborted ? 'TIMEOUT' : codeOf(error), ...(untrusted && { untrusted }) };
    }
  };
}

const FORBIDDEN = 'ADDRESS_FORBIDDEN';

/** Reads up to `bytes` of a body, then closes the connection. */
async function bodyOf(response: Readable, bytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  if (bytes > 0) {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= bytes) break;
    }
  }
  response.destroy();
  return Buffer.concat(chunks).subarray(0, bytes).toString();
}

/** Resolves a name only to addresses that the policy allows; the connection uses these addresses. */
function lookupWithin(policy: AddressPolicy): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const allowed = error === null ? addresses.filter(({ address }) => isAllowedAddress(address, policy)) : [];
      const [first] = allowed;
      if (first === undefined) callback(error ?? Object.assign(new Error(FORBIDDEN), { code: FORBIDDEN }), '');
      else if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** Passes on only the code of an error: its message may contain the URL. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'UNKNOWN';
}
