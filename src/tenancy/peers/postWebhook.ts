import { lookup as resolve } from 'node:dns';
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { type Authorities, createTlsContext } from '../../platform/certificateAuthorities.ts';
import { parseRetryAfter } from '../../platform/http/retryAfter.ts';
import { type AddressPolicy, isAllowedAddress, isAllowedHost, policyFor } from './addressPolicy.ts';

/** One webhook as it is sent. */
export interface WebhookPost {
  url: URL;
  headers: Record<string, string>;
  body: string;
  /** Bytes of the answer's body that are read at most; 0 for none. */
  answerBytes: number;
  signal: AbortSignal;
}

/**
 * What became of a webhook: the status, the seconds that the endpoint asks to be left alone (null if it does not) and what was
 * read of the body, or why nothing was answered: a code of node:net or node:tls, `ADDRESS_FORBIDDEN` or `TIMEOUT`.
 */
export type WebhookAnswer =
  { status: number; retryAfterS: number | null; body: string } | { status: null; code: string };

/** Sends a webhook once. Follows no redirect, and reads no more of an answer than its head and `answerBytes`; never throws. */
export type PostWebhook = (post: WebhookPost) => Promise<WebhookAnswer>;

/** What holds for all webhooks. */
export interface WebhookTransport {
  authorities: Authorities;
  /** Milliseconds from the look-up of the address to the end of what is read of the answer. */
  timeoutMs: number;
  /** Whether loopback, private and shared addresses are allowed. */
  allowsPrivate: boolean;
}

/** Largest head of an answer, in bytes. */
const MAX_HEAD_BYTES = 16_384;

/** Creates what sends webhooks, each over a connection of its own. */
export function createPostWebhook({ authorities, timeoutMs, allowsPrivate }: WebhookTransport): PostWebhook {
  const agent = new Agent({ secureContext: createTlsContext(authorities), rejectUnauthorized: true, keepAlive: false });
  return async ({ url, headers, body, answerBytes, signal }) => {
    const policy = policyFor(url, allowsPrivate);
    // An address is not looked up.
    if (!isAllowedHost(url, policy)) return { status: null, code: FORBIDDEN };
    const timeout = AbortSignal.timeout(timeoutMs);
    const options: RequestOptions = {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      agent: policy.loopbackOnly ? false : agent,
      maxHeaderSize: MAX_HEAD_BYTES,
      lookup: lookupWithin(policy),
      signal: AbortSignal.any([signal, timeout]),
    };
    try {
      const response = await respond(url, options, body);
      const { statusCode = 0, headers: answered } = response;
      const read = await bodyOf(response, answerBytes);
      return { status: statusCode, retryAfterS: parseRetryAfter(answered, Date.now()), body: read };
    } catch (error) {
      return { status: null, code: timeout.aborted ? 'TIMEOUT' : codeOf(error) };
    }
  };
}

const FORBIDDEN = 'ADDRESS_FORBIDDEN';

/** The answer, of which the head has come. */
function respond(url: URL, options: RequestOptions, body: string): Promise<IncomingMessage> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolveResponse, reject) => {
    const request = send(url, options);
    request.on('error', reject);
    // The last event of each request, and the only one after an answer that switches protocols.
    request.on('close', () => reject(Object.assign(new Error('no answer'), { code: 'ECONNRESET' })));
    request.on('response', resolveResponse);
    request.end(body);
  });
}

/** As much of a body as is wanted; the connection is closed then, whatever else would come. */
async function bodyOf(response: IncomingMessage, bytes: number): Promise<string> {
  // Without it, an error of the connection that comes after the last read would end the process.
  response.on('error', () => undefined);
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

/** Resolves a name to the addresses that the policy allows; the connection is made to these and no others. */
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

/** Of an error nothing but its code is passed on: it may hold the URL. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'UNKNOWN';
}
