import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type Authorities, createTlsContext } from './certificateAuthorities.ts';
import { TransportError } from './http.rules.ts';
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
  const secureContext = authorities && createTlsContext(authorities);
  return async (url, { method = 'GET', headers = {}, body, signal }) => {
    try {
      const isEncrypted = url.startsWith('https:');
      if (isEncrypted && secureContext === null) throw new TransportError('UNTRUSTED');
      const send = isEncrypted ? httpsRequest : httpRequest;
      const tls = secureContext && { secureContext, rejectUnauthorized: true };
      const options = { method, headers, ...tls, ...(signal && { signal }) };
      const call = send(url, options).end(body instanceof URLSearchParams ? body.toString() : body);
      // Once there is a response, its body tells of a connection that breaks; without a listener that would end the process.
      call.on('error', () => undefined);
      const [response] = (await once(call, 'response')) as [IncomingMessage];
      return responseOf(response, await collectBytes(response, { maxBytes, tooLarge }));
    } catch (error) {
      if (error instanceof TransportError) throw error;
      throw new TransportError(signal?.aborted ? 'ETIMEDOUT' : ((error as NodeJS.ErrnoException).code ?? 'UNKNOWN'));
    }
  };
}

function tooLarge(): TransportError {
  return new TransportError('TOO_LARGE');
}

function responseOf({ statusCode: status = 0, headersDistinct }: IncomingMessage, body: Buffer): Response {
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return new Response([204, 205, 304].includes(status) ? null : new Uint8Array(body), { status, headers });
}
