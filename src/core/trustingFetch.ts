import { Agent as HttpAgent } from 'node:http';
import { type Authorities, createTlsContext } from './certificateAuthorities.ts';
import { TransportError } from './http.rules.ts';
import { createAgents, type HttpRequest, open, type OpenAnswer } from './nodeClient.ts';
import { collectBytes } from './streams.ts';

/** A request as libraries make it for `fetch`. */
export interface FetchInit {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal | null;
}

/** The part of `fetch` that libraries need. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

/**
 * A `fetch` that trusts some authorities only, or calls plain HTTP only where they are null; it follows no redirect, and throws
 * TransportError without a response of `maxBytes`.
 */
export function createFetch(authorities: Authorities | null, maxBytes: number): Fetch {
  const agents = authorities
    ? createAgents(createTlsContext(authorities), { keepAlive: false })
    : { http: new HttpAgent(), https: null };
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
      throw new TransportError(signal?.aborted ? 'ETIMEDOUT' : ((error as NodeJS.ErrnoException).code ?? 'UNKNOWN'));
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
