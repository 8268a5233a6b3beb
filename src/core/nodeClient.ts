import { once } from 'node:events';
import { type ClientRequest, request as overHttp, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as overHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { type Authorities, createTlsContext, untrustedOf } from './certificateAuthorities.ts';
import { type Agents, createAgents, createHttpAgent } from './connector.ts';
import { TransportError } from './http.rules.ts';
import { collectBytes } from './streams.ts';

/** One request; the certificate of a server is always verified. */
export interface HttpRequest {
  url: URL;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Record<string, string>;
  body?: string | Buffer | undefined;
  /** With null nobody is called by TLS: the error is `UNTRUSTED`. */
  agents: Agents | { http: Agents['http']; https: null };
  signal?: AbortSignal | undefined;
  lookup?: LookupFunction;
  maxHeadBytes?: number;
}

/** An answer with any status, of which only the head has been read. */
export interface OpenAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Readable;
}

/**
 * Sends a request and reads the head of its answer, for the calls of a tick: it loads no other module (adr/0019). With
 * `resends` it sends again when a kept connection breaks before the answer. No redirects, cookies or decompression.
 * Throws errors of Node, which a caller classifies by their code.
 */
export async function open({ resends = false, ...request }: HttpRequest & { resends?: boolean }): Promise<OpenAnswer> {
  for (;;) {
    const call = start(request);
    try {
      const response = await responseTo(call, request);
      response.on('error', ignore);
      return { status: response.statusCode ?? 0, headers: response.headers, body: response };
    } catch (error) {
      // a server may close an idle connection while a request is on its way
      const isStale = call.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
      if (!resends || !isStale) throw error;
    }
  }
}

/** A request without a connection ignores its signal, so `once` observes it too; a server that switches protocols closes it. */
async function responseTo(call: ClientRequest, request: HttpRequest): Promise<IncomingMessage> {
  const answered = once(call, 'response', limitOf(request)) as Promise<[IncomingMessage]>;
  const closed = once(call, 'close').then(() => {
    throw Object.assign(new Error('no answer'), { code: 'ECONNRESET' });
  });
  const [response] = await Promise.race([answered, closed]);
  return response;
}

function start({ url, method, headers, body, agents, signal, lookup, maxHeadBytes }: HttpRequest): ClientRequest {
  const options = {
    ...{ method, headers, ...limitOf({ signal }) },
    ...(lookup && { lookup }),
    ...(maxHeadBytes !== undefined && { maxHeaderSize: maxHeadBytes }),
  };
  if (url.protocol !== 'https:')
    return overHttp(url, { ...options, agent: agents.http })
      .on('error', ignore)
      .end(body);
  if (agents.https === null) throw Object.assign(new Error('no authority is trusted'), { code: 'UNTRUSTED' });
  const call = overHttps(url, { ...options, agent: agents.https, rejectUnauthorized: true });
  return call.on('error', ignore).end(body);
}

function limitOf({ signal }: Pick<HttpRequest, 'signal'>): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

/** Errors reach the reader of a stream; without a listener they would end the process. */
function ignore(): void {
  return;
}

/** A request as libraries make it for `fetch`. */
interface FetchInit {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal | null;
}

/** The part of `fetch` that libraries need. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

/** Bounds of each call. */
interface FetchLimits {
  maxBytes: number;
  connectTimeoutMs: number;
}

/**
 * A `fetch` that trusts some authorities only, or calls plain HTTP only where they are null; it follows no redirect, and throws
 * TransportError without a response of `maxBytes`.
 */
export function createFetch(authorities: Authorities | null, { maxBytes, connectTimeoutMs }: FetchLimits): Fetch {
  const connection = { connectTimeoutMs, keepAlive: false };
  const agents = authorities
    ? createAgents({ context: createTlsContext(authorities) }, connection)
    : { http: createHttpAgent(connection), https: null };
  return async (url, { method = 'GET', headers = {}, body, signal = null }) => {
    try {
      const answer = await open({
        ...{ url: new URL(url), method: method as HttpRequest['method'], headers, agents },
        body: body instanceof URLSearchParams ? body.toString() : (body as HttpRequest['body']),
        signal: signal ?? undefined,
      });
      return responseOf(answer, await collectBytes(answer.body, { maxBytes, tooLarge }));
    } catch (error) {
      if (error instanceof TransportError) throw error;
      if (signal?.aborted) throw new TransportError('ETIMEDOUT');
      throw new TransportError((error as NodeJS.ErrnoException).code ?? 'UNKNOWN', untrustedOf(error));
    }
  };
}

function tooLarge(): TransportError {
  return new TransportError('TOO_LARGE');
}

function responseOf({ status, headers }: OpenAnswer, body: Buffer): Response {
  const pairs = Object.entries(headers).flatMap(([name, values = []]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
  return new Response([204, 205, 304].includes(status) ? null : new Uint8Array(body), { status, headers: pairs });
}
