import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Settings } from '../../config/settings.ts';
import { isMistrust } from '../../rules/errors/errorCodes.ts';
import type { Call } from './call.ts';
import type { Agents, Transport } from '../transport/agents.ts';

export type Headers = IncomingHttpHeaders;

/** A request as every client sends it: none of them knows of TLS, time limits or the bearer but from here. */
export interface Outgoing {
  url: URL;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body: string | undefined;
  agents: Agents;
  signal: AbortSignal;
}

/** An answer of which only the head has been read. */
export interface Opened {
  status: number;
  headers: Headers;
  body: Readable;
}

/**
 * Sends one request once and returns its answer, whatever its status. Throws its own errors, which may hold the bearer:
 * only for `http.ts`, which sorts them by their codes. No redirect, retry, cookie or decompression.
 */
export type Client = (outgoing: Outgoing) => Promise<Opened>;

interface OpenerParts {
  settings: Settings;
  transport: Transport;
  version: string;
}

/**
 * Makes the request of a call and gives it to a client. A certificate that a part of the system's roots does not vouch for is
 * judged by all of them; until then nothing of the request was sent.
 */
export function createOpener({ settings, transport, version }: OpenerParts) {
  return async (client: Client, call: Call, signal: AbortSignal): Promise<Opened> => {
    const send = (agents: Agents) =>
      client({
        url: urlOf(settings, call),
        method: call.method,
        headers: headersOf(call, version),
        body: call.method === 'POST' ? JSON.stringify(call.body ?? {}) : undefined,
        agents,
        signal,
      });
    const agents = transport.agents(call.peer);
    return send(agents).catch((error: unknown) => {
      const widest = isMistrust(codeOf(error) ?? '') ? transport.widest(call.peer) : agents;
      if (widest === agents) throw error;
      return send(widest);
    });
  };
}

/** What a client's error calls itself. */
export function codeOf(error: unknown): string | null {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : null;
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

/** For a stream whose errors are told to whoever reads it; after that nobody listens, and they must not end the process. */
export function ignoreOnceRead(): void {
  return;
}
