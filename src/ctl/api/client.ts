import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import type { SecureContext } from 'node:tls';
import { parseRetryAfter } from '../../platform/http/retryAfter.ts';
import { isObject } from '../../protocol/jsonFields.ts';
import { version } from '../../version.ts';
import { CtlError, exits } from '../ctlError.ts';
import type { Clock } from '../io.ts';
import { answerError, notOurAnswer, transportError } from './failure.ts';
import { download, send, type Agents, type HttpAnswer, type HttpRequest } from './gotClient.ts';
import { retryDelayMs } from './retry.ts';

/** One call of the operators' API. */
export interface ApiCall {
  method: HttpRequest['method'];
  /** Made by `path`. */
  path: string;
  query?: Record<string, string | number | undefined>;
  json?: object;
  /** Without it as many as temporary failures allow, but one for POST, which might be done twice. */
  tries?: 1;
  /** Opens the bytes to send; called again for each try. */
  upload?: () => Promise<{ bytes: Readable; size: number }>;
  /** Takes the bytes of an answer that is no JSON, for each try from the first one on. Its CtlErrors end the call. */
  receive?: (bytes: Readable) => Promise<void>;
}

/** The operators' API; throws nothing but CtlErrors. */
export interface Api {
  /** The object that was answered, an empty one to 204. */
  call: <T extends object>(call: ApiCall) => Promise<T>;
  close: () => void;
}

/** Where the API is, and who calls it. */
export interface Connection {
  url: URL;
  token: string;
  context: SecureContext;
}

/** The API at the end of a connection; `clock` times the retries. */
export function createApi({ url, token, context }: Connection, clock: Clock): Api {
  const agents: Agents = {
    http: new HttpAgent({ keepAlive: true }),
    https: new HttpsAgent({ keepAlive: true, secureContext: context, rejectUnauthorized: true }),
  };
  const attempt = async (call: ApiCall): Promise<Attempt> => {
    const upload = await call.upload?.();
    const headers = { ...baseHeaders, authorization: `Bearer ${token}`, ...contentHeaders(call, upload?.size) };
    const body = upload?.bytes ?? (call.json && JSON.stringify(call.json));
    const request = { url: urlOf(url, call), method: call.method, headers, body, agents };
    return (call.receive ? download(request, call.receive) : send(request)).then(
      (answer) => readAnswer(answer, url.origin),
      (error: unknown) => ({ error: callError(error, url.origin), retryAfterS: null }),
    );
  };
  return {
    call: async <T extends object>(call: ApiCall) => (await withRetries(call, clock, () => attempt(call))) as T,
    close: () => Object.values(agents).forEach((agent: HttpAgent) => agent.destroy()),
  };
}

/** What came of one try. */
type Attempt = { json: object } | { error: CtlError; retryAfterS: number | null };

const baseHeaders = { accept: 'application/json', 'user-agent': `deployctl/${version}` };

function contentHeaders({ json }: ApiCall, size: number | undefined): Record<string, string> {
  if (size !== undefined) return { 'content-type': 'application/octet-stream', 'content-length': String(size) };
  return json === undefined ? {} : { 'content-type': 'application/json' };
}

function urlOf(base: URL, { path, query = {} }: ApiCall): URL {
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}${path}`;
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

function readAnswer({ status, headers, body }: HttpAnswer, origin: string): Attempt {
  const json = parseJson(body);
  const isOk = status >= 200 && status < 300;
  if (!isOk) return { error: answerError(status, json), retryAfterS: parseRetryAfter(headers, Date.now()) };
  if (isObject(json)) return { json };
  return { error: notOurAnswer(origin), retryAfterS: null };
}

/** No body is an empty object; undefined is no JSON. */
function parseJson(body: Buffer): unknown {
  try {
    return body.length === 0 ? {} : (JSON.parse(body.toString('utf8')) as unknown);
  } catch {
    return undefined;
  }
}

async function withRetries(
  { method, tries: most }: ApiCall,
  clock: Clock,
  attempt: () => Promise<Attempt>,
): Promise<object> {
  for (let tries = 1; ; tries++) {
    const result = await attempt();
    if ('json' in result) return result.json;
    const { error, retryAfterS } = result;
    const mayRetry = method !== 'POST' && most !== 1 && error.fields.exit === exits.temporary;
    const delayMs = mayRetry ? retryDelayMs(retryAfterS, tries, Math.random()) : null;
    if (delayMs === null) throw error;
    await clock.sleep(delayMs);
  }
}

/** What went wrong before an answer was complete: at the caller's own end, or on the way. */
function callError(error: unknown, origin: string): CtlError {
  if (error instanceof CtlError) return error;
  const { code } = error as { code?: unknown };
  return transportError(typeof code === 'string' ? code : 'UNKNOWN', origin);
}
