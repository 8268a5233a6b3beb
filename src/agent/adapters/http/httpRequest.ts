import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Settings } from '../../config/settings.ts';
import { isUntrusted } from '../../../core/errors.rules.ts';
import type { HttpCall } from './httpCall.ts';
import type { Agents } from '../transport/agents.ts';
import type { Transport } from '../transport/transport.ts';

export type Headers = IncomingHttpHeaders;

/** A request for any client: TLS, time limits and the bearer all come from here. */
export interface HttpRequest {
  url: URL;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body: string | undefined;
  agents: Agents;
  signal: AbortSignal;
}

/** A response of which only the head has been read. */
export interface OpenReply {
  status: number;
  headers: Headers;
  body: Readable;
}

/**
 * Sends one request once and returns its response, whatever its status. Throws its own errors, which may contain the
 * bearer: only for httpClient.ts, which classifies them by code. No redirects, retries, cookies or decompression.
 */
export type SendRequest = (outgoing: HttpRequest) => Promise<OpenReply>;

interface SenderOptions {
  settings: Settings;
  transport: Transport;
  version: string;
}

/**
 * Creates a function that sends a call with a client. When the remembered roots do not vouch for a certificate, it
 * tries again with all roots; nothing of the request was sent until then.
 */
export function createSender({ settings, transport, version }: SenderOptions) {
  return async (client: SendRequest, call: HttpCall, signal: AbortSignal): Promise<OpenReply> => {
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
      const broader = isUntrusted(errorCodeOf(error) ?? '') ? transport.agentsWithAllRoots(call.peer) : agents;
      if (broader === agents) throw error;
      return send(broader);
    });
  };
}

/** The code of an error. */
export function errorCodeOf(error: unknown): string | null {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : null;
}

function urlOf(settings: Settings, { peer, path, query }: HttpCall): URL {
  if (path instanceof URL) return path;
  const base = peer === 'tenancy' ? settings.tenancy_url : settings.secretstore_url;
  const url = new URL(base + path);
  if (!url.pathname.endsWith(path)) throw new Error('a path with dots in it would lead elsewhere');
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
  return url;
}

function headersOf(call: HttpCall, version: string): Record<string, string> {
  return {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': `deployd/${version}`,
    'x-request-id': call.requestId,
    ...(call.method === 'POST' && { 'content-type': 'application/json' }),
    ...call.headers,
  };
}

/**
 * An error listener for streams whose errors reach their reader otherwise; without a listener an error would end the
 * process.
 */
export function ignoreError(): void {
  return;
}
