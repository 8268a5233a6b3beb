import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import got, { type Delays, type OptionsInit } from 'got';
import type { Agents, HttpRequest, OpenAnswer } from './nodeClient.ts';

/** One request. */
export interface GotRequest extends Omit<HttpRequest, 'body' | 'agents' | 'lookup' | 'maxHeadBytes'> {
  agents: Agents;
  body?: HttpRequest['body'] | Readable;
  /** Milliseconds of the whole call (`request`), or of its parts. */
  timeout?: Delays;
}

/** A complete answer, whatever its status. */
export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Sends a request once, or once more if a kept connection breaks before the answer; throws got's errors, which hold the request. */
export async function send(request: GotRequest & { resends?: boolean; maxBytes?: number }): Promise<HttpAnswer> {
  const { url, resends, maxBytes = Infinity } = request;
  const limit = new AbortController();
  const call = got(url, {
    ...optionsOf(request),
    agent: request.agents,
    responseType: 'buffer',
    signal: request.signal ? AbortSignal.any([request.signal, limit.signal]) : limit.signal,
    ...(resends === true && { retry: resending }),
  });
  void call.on('downloadProgress', ({ transferred }) => transferred > maxBytes && limit.abort());
  const {
    statusCode: status,
    headers,
    body,
  } = await call.catch((error: unknown) => {
    throw limit.signal.aborted ? Object.assign(new Error('the answer is too large'), { code: 'TOO_LARGE' }) : error;
  });
  return { status, headers, body: Buffer.from(body) };
}

/** Sends a request once, and reads the head of the answer. Throws got's errors, which hold the request. */
export async function open(request: GotRequest): Promise<OpenAnswer> {
  const body = got.stream(request.url, {
    ...optionsOf(request),
    agent: request.agents,
    ...(request.signal && { signal: request.signal }),
  });
  // whoever reads it next learns of an error, however early that came
  body.on('error', () => undefined);
  const [response] = (await once(body, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

/** A redirect would carry a bearer elsewhere; got repeats nothing by itself. */
function optionsOf({ method, headers, body, timeout }: GotRequest) {
  return {
    method,
    headers,
    ...(body !== undefined && { body }),
    ...(timeout && { timeout }),
    https: { rejectUnauthorized: true },
    retry: { limit: 0 },
    throwHttpErrors: false,
    followRedirect: false,
    decompress: false,
  } satisfies OptionsInit;
}

/** A server may close an idle connection while a call is on its way. */
const resending = {
  limit: 1,
  methods: ['GET', 'POST', 'PUT', 'DELETE'],
  statusCodes: [],
  errorCodes: ['ECONNRESET', 'EPIPE'],
  calculateDelay: ({ error }) => (error.request?.reusedSocket === true ? 1 : 0),
} satisfies OptionsInit['retry'];
