import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import got, { type Response } from 'got';
import { Fault } from '../../machines/fault.ts';
import type { Settings } from '../config/settings.ts';
import type { Call } from './call.ts';
import type { Transport } from './transport/agents.ts';

export type Headers = IncomingHttpHeaders;

/** An answer of which only the head has been read. */
export interface Opened {
  status: number;
  headers: Headers;
  body: Readable;
}

interface OpenerParts {
  settings: Settings;
  transport: Transport;
  version: string;
}

/**
 * Sends one request once and returns its answer, whatever its status. Throws the client's own errors, which may hold
 * the bearer: only for `http.ts`, which sorts them by their codes. No redirect, retry, cookie or decompression.
 */
export function createOpener({ settings, transport, version }: OpenerParts) {
  return async (call: Call, signal: AbortSignal): Promise<Opened> => {
    const url = urlOf(settings, call);
    const body = call.method === 'POST' ? JSON.stringify(call.body ?? {}) : undefined;
    const stream = got.stream(url, {
      method: call.method,
      headers: headersOf(call, version),
      ...(body !== undefined && { body }),
      agent: transport.agents(call.peer),
      signal,
      https: { rejectUnauthorized: true },
      retry: { limit: 0 },
      throwHttpErrors: false,
      followRedirect: false,
      decompress: false,
    });
    stream.on('error', ignoreOnceRead);
    const [{ statusCode, headers }] = (await once(stream, 'response').catch(unwrap)) as [Response];
    return { status: statusCode, headers, body: stream };
  };
}

function urlOf(settings: Settings, { peer, path, query }: Call): URL {
  if (path instanceof URL) return path;
  const base = peer === 'tenancy' ? settings.tenancy_url : settings.secretstore_url;
  const url = new URL(base + path);
  if (!url.pathname.endsWith(path)) throw new Error('a path with dots in it would lead elsewhere');
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
  return url;
}

function headersOf(call: Call, version: string): Record<string, string> {
  return {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': `deployd/${version}`,
    'x-request-id': call.requestId,
    ...(call.method === 'POST' && { 'content-type': 'application/json' }),
    ...call.headers,
  };
}

/** What a transport's own connection says is wrong goes on as it is. */
function unwrap(error: unknown): never {
  throw (error as Error).cause instanceof Fault ? (error as Error).cause : error;
}

/** An error is told to whoever reads the stream; after that nobody listens, and it must not end the process. */
function ignoreOnceRead(): void {
  return;
}
