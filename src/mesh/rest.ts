import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import { gather } from '../platform/collectBytes.ts';
import type { Identity } from './identity.ts';
import { parsed } from './json.ts';
import { MeshTrouble, sortSocketError } from './trouble.ts';

/** A request to a controller; the body is sent as JSON, or as a form when it is a URLSearchParams. */
export interface Ask {
  method: 'GET' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: object;
  /** It gives a token or takes it back, so it goes on for a while after the end. */
  outlives?: boolean;
}

/** An answer, whatever its status; `json` is undefined when the body is none. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  json: unknown;
}

/** Calls to one controller, with the identity's certificate; follows no redirect. */
export interface Rest {
  /** Throws a MeshTrouble of kind `unreachable`, `untrusted` or `protocol`. */
  ask: (url: URL, ask: Ask) => Promise<Answer>;
  /** Ends all calls, those that outlive it after two seconds. */
  end: () => void;
  /** Ends what is left, and closes all sockets. */
  close: () => void;
}

const MAX_BODY_BYTES = 8_388_608;
/** A log-out is a courtesy that nobody should have to wait for. */
const FAREWELL_MS = 2000;

/** Each call is bounded by the time, in milliseconds. */
export function createRest({ secureContext }: Identity, timeoutMs: number): Rest {
  const [ended, closed] = [new AbortController(), new AbortController()];
  let timer: NodeJS.Timeout | undefined;
  const agent = new https.Agent({ keepAlive: true, secureContext, rejectUnauthorized: true });
  return {
    ask: async (url, ask) => {
      const { signal } = ask.outlives ? closed : ended;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        return await answerOf(https.request(url, { method: ask.method, agent, signal: limit, ...written(ask) }), ask);
      } catch (error) {
        if (limit.aborted) throw new MeshTrouble('unreachable', `controller ${url.host}: no answer in time`);
        throw sortSocketError(error, `controller ${url.host}`);
      }
    },
    end: () => {
      ended.abort();
      timer ??= setTimeout(() => closed.abort(), FAREWELL_MS);
    },
    close: () => {
      clearTimeout(timer);
      closed.abort();
      ended.abort();
      agent.destroy();
    },
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
