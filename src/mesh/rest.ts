import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import { gather } from '../bytes/gathered.ts';
import type { Identity } from './identity.ts';
import { parsed } from './json.ts';
import { MeshTrouble, sortSocketError } from './trouble.ts';

/** A request to a controller; the body is sent as JSON, or as a form when it is a URLSearchParams. */
export interface Ask {
  method: 'GET' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: object;
  /** Bounds this call instead of what bounds all the others. */
  limit?: AbortSignal;
}

/** An answer, whatever its status; `json` is undefined when the body is none. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  json: unknown;
}

/** Calls to the controllers of one identity, with its certificate; follows no redirect. */
export interface Rest {
  /** Throws a MeshTrouble of kind `unreachable`, `untrusted` or `protocol`. */
  ask: (url: URL, ask: Ask) => Promise<Answer>;
  close: () => void;
}

const MAX_BODY_BYTES = 8_388_608;

/** Each call is bounded by the time, in milliseconds, and ends with the signal. */
export function createRest(
  { secureContext }: Identity,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Rest {
  const agent = new https.Agent({ keepAlive: true, secureContext, rejectUnauthorized: true });
  return {
    ask: async (url, ask) => {
      const limit = ask.limit ?? AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        return await answerOf(https.request(url, { method: ask.method, agent, signal: limit, ...written(ask) }), ask);
      } catch (error) {
        if (limit.aborted) throw new MeshTrouble('unreachable', `controller ${url.host}: no answer in time`);
        throw sortSocketError(error, `controller ${url.host}`);
      }
    },
    close: () => agent.destroy(),
  };
}

function written({ headers, body }: Ask): { headers: Record<string, string> } {
  const isForm = body instanceof URLSearchParams;
  return {
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' }),
      ...headers,
    },
  };
}

async function answerOf(request: ReturnType<typeof https.request>, { body }: Ask): Promise<Answer> {
  request.end(
    body === undefined ? undefined : body instanceof URLSearchParams ? body.toString() : JSON.stringify(body),
  );
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const text = await textOf(response);
  return { status: response.statusCode ?? 0, headers: response.headers, json: parsed(text) };
}

async function textOf(response: IncomingMessage): Promise<string> {
  return (await gather(response, { maxBytes: MAX_BODY_BYTES, tooLarge })).toString();
}

function tooLarge(): MeshTrouble {
  return new MeshTrouble('protocol', 'the controller sent more than 8 MiB');
}
