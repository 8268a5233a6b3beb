import type { IncomingHttpHeaders } from 'node:http';
import { type Authorities, createTlsContext } from './certificateAuthorities.ts';
import { TransportError } from './http.rules.ts';
import { send } from './httpClient.ts';
import { closeAgents, createAgents } from './nodeClient.ts';

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
  const agents = createAgents(createTlsContext(authorities), { keepAlive: true, maxSockets });
  return {
    send: async ({ path, method, headers, body }) => {
      const url = new URL(baseUrl + path);
      if (!url.href.endsWith(path)) throw new TransportError('INVALID_PATH');
      const answer = await send({
        ...{ url, method, agents, maxBytes, resends: true, timeout: { request: timeoutMs } },
        headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers },
        body: body && JSON.stringify(body),
      }).catch((error: unknown) => {
        throw new TransportError(codeOf(error));
      });
      return { status: answer.status, headers: answer.headers, json: parseJson(answer.body) };
    },
    close: () => closeAgents(agents),
  };
}

/** An error of got holds the request with its headers: nothing but its code is passed on. */
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
