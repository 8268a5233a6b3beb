import { Agent as HttpAgent, type IncomingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import got, { type OptionsInit, RequestError } from 'got';
import { type Authorities, createTlsContext } from './certificateAuthorities.ts';
import { TransportError } from './http.rules.ts';

/** One call; the body is sent as JSON. */
export interface JsonRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
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
  /** Whom to trust for `https:`. */
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
  const pool = { keepAlive: true, maxSockets };
  const agents = {
    http: new HttpAgent(pool),
    https: new HttpsAgent({ ...pool, secureContext: createTlsContext(authorities), rejectUnauthorized: true }),
  };
  return {
    send: async ({ path, method, headers = {}, body }) => {
      const url = new URL(baseUrl + path);
      if (!url.href.endsWith(path)) throw new TransportError('INVALID_PATH');
      const limit = new AbortController();
      const request = got(url, {
        ...callOptions,
        method,
        headers: { accept: 'application/json', ...headers },
        ...(body !== undefined && { json: body }),
        agent: agents,
        https: { rejectUnauthorized: true },
        timeout: { request: timeoutMs },
        signal: limit.signal,
      });
      void request.on('downloadProgress', ({ transferred }) => transferred > maxBytes && limit.abort());
      const {
        statusCode,
        headers: answered,
        body: text,
      } = await request.catch((error: unknown) => {
        throw new TransportError(limit.signal.aborted ? 'TOO_LARGE' : codeOf(error));
      });
      return { status: statusCode, headers: answered, json: parseJson(text) };
    },
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

const callOptions = {
  throwHttpErrors: false,
  followRedirect: false,
  decompress: false,
  responseType: 'text',
  retry: {
    limit: 1,
    methods: ['GET', 'POST', 'PUT', 'DELETE'],
    statusCodes: [],
    errorCodes: ['ECONNRESET', 'EPIPE'],
    // a server may close an idle connection while a call is on its way
    calculateDelay: ({ error }) => (error.request?.reusedSocket === true ? 1 : 0),
  },
} satisfies OptionsInit;

/** An error of got holds the request with its headers: nothing but its code is passed on. */
function codeOf(error: unknown): string {
  return error instanceof RequestError ? error.code : 'UNKNOWN';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
