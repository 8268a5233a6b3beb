import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import got from 'got';
import type { Delays, OptionsInit } from 'got';
import { type Authorities, createTlsContext, untrustedOf } from './certificateAuthorities.ts';
import { type Agents, closeAgents, createAgents } from './connector.ts';
import { TransportError } from './http.rules.ts';
import type { HttpRequest, OpenAnswer } from './nodeClient.ts';

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

/**
 * Sends a request once, or once more if a kept connection breaks before the answer; throws got's errors, which hold the
 * request.
 */
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
    ...bodyOptions(headers, body),
    ...(timeout && { timeout }),
    https: { rejectUnauthorized: true },
    retry: { limit: 0 },
    throwHttpErrors: false,
    followRedirect: false,
    decompress: false,
  } satisfies OptionsInit;
}

/**
 * A whole body is passed as a list of one part. From a text or buffer, got would destroy a request whose answer begins
 * before the callback of the last write, and with it the rest of the answer (docs/adr/0023-bodies-of-requests.md).
 */
export function bodyOptions<Body>(headers: GotRequest['headers'], body: string | Buffer | Body) {
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) return { headers, ...(body !== undefined && { body }) };
  return { headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) }, body: [body] };
}

/** A server may close an idle connection while a call is on its way. */
const resending = {
  limit: 1,
  methods: ['GET', 'POST', 'PUT', 'DELETE'],
  statusCodes: [],
  errorCodes: ['ECONNRESET', 'EPIPE'],
  calculateDelay: ({ error }) => (error.request?.reusedSocket === true ? 1 : 0),
} satisfies OptionsInit['retry'];

/** One call; the body is sent as JSON. */
export interface JsonRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Appended to the base URL, with its query; it must not contain a segment of dots. */
  path: string;
  headers?: Record<string, string>;
  body?: object;
}

/** A response with any status; `json` is undefined if the body is not JSON. */
export interface JsonAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  json: unknown;
}

/** Calls to the JSON API of one server, over connections that are kept. */
export interface JsonClient {
  /** Throws `TransportError` unless there is a whole response in time. */
  send: (request: JsonRequest) => Promise<JsonAnswer>;
  /** Closes all connections. */
  close: () => void;
}

/** The server, and the bounds of each call. */
export interface JsonClientOptions {
  /** Without a trailing slash. */
  baseUrl: string;
  /** Trusted authorities for `https:`. */
  authorities: Authorities;
  /** Milliseconds of a whole call, including the wait for a connection. */
  timeoutMs: number;
  /** Size of a response. */
  maxBytes: number;
  /** Connections at a time; further calls wait for one. */
  maxSockets: number;
}

/** Creates a client that follows no redirect, and repeats a call only on a kept connection that the server has closed. */
export function createJsonClient({ baseUrl, authorities, ...bounds }: JsonClientOptions): JsonClient {
  const { timeoutMs, maxBytes, maxSockets } = bounds;
  const agents = createAgents({ context: createTlsContext(authorities) }, { connectTimeoutMs: timeoutMs, maxSockets });
  return {
    send: async ({ path, method, headers, body }) => {
      const url = new URL(baseUrl + path);
      if (!url.href.endsWith(path)) throw new TransportError('INVALID_PATH');
      const answer = await send({
        ...{ url, method, agents, maxBytes, resends: true, timeout: { request: timeoutMs } },
        headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers },
        body: body && JSON.stringify(body),
      }).catch((error: unknown) => {
        throw new TransportError(codeOf(error), untrustedOf(error));
      });
      return { status: answer.status, headers: answer.headers, json: parseJson(answer.body) };
    },
    close: () => closeAgents(agents),
  };
}

/** An error of got contains the request with its headers: only its code is passed on. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'UNKNOWN';
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
