import type { Readable } from 'node:stream';
import type { Fault } from '../../../machines/fault.ts';
import type { Agents } from '../../core/connector.ts';
import { isUntrusted } from '../../core/errors.rules.ts';
import type { HttpRequest, OpenAnswer } from '../../core/nodeClient.ts';
import { collectBytes } from '../../core/streams.ts';
import type { Settings } from '../config/configKeys.ts';
import { wipe } from '../secrets/memory.ts';
import type { Transport } from './transport.ts';
import type { Peer } from './classifyError.rules.ts';

/** Sends one request once, and reads the head of the answer. Throws its own errors, which may contain the bearer. */
type SendRequest = (request: HttpRequest & { agents: Agents }) => Promise<OpenAnswer>;

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
  return async (client: SendRequest, call: HttpCall, signal: AbortSignal): Promise<OpenAnswer> => {
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

/**
 * One HTTP call. `operation` names it in messages; a URL as `path` is used unchanged, a string is appended to the
 * peer's base URL.
 */
export interface HttpCall {
  peer: Peer;
  operation: string;
  method: 'GET' | 'POST';
  path: string | URL;
  requestId: string;
  /** Aborted by SIGTERM; the call then throws the fault `stopped`. */
  signal: AbortSignal;
  body?: object;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  /** Statuses in addition to 2xx that the caller handles; all others are thrown as faults. */
  accepts?: readonly number[];
  /** The caller needs only the status: the body is not awaited. */
  ignoresBody?: true;
  /** Maximum number of tries, 3 by default. */
  tries?: number;
  /** Maximum size of the response in bytes, 1 MiB by default. */
  maxBytes?: number;
  /** The fault for a larger response; PROTOCOL_INVALID by default. */
  tooLarge?: Fault;
}

/**
 * Parses a body as JSON; undefined when it is not JSON. Its bytes, which may contain a secret, are wiped. Throws an
 * error of code TOO_LARGE for more than `maxBytes`.
 */
export async function readJsonBody(body: Readable, maxBytes: number): Promise<unknown> {
  const bytes = await collectBytes(body, { maxBytes, tooLarge });
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    return undefined;
  } finally {
    wipe(bytes);
  }
}

function tooLarge(): Error {
  return Object.assign(new Error('answer too large'), { code: 'TOO_LARGE' });
}
