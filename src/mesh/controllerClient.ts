import type { IncomingHttpHeaders } from 'node:http';
import { closeAgents, createAgents } from '../core/connector.ts';
import { open } from '../core/nodeClient.ts';
import { collectBytes } from '../core/streams.ts';
import { clockProblem } from './choice.rules.ts';
import type { Identity } from './identity.ts';
import { parseJson } from '../core/json.rules.ts';
import { classifySocketError, MeshError } from './meshError.ts';

/** A request to a controller; a URLSearchParams body is sent as a form, any other as JSON. */
export interface ControllerRequest {
  method: 'GET' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: object;
  /** The request obtains or revokes a token, so it may continue for a while after `end`. */
  outlivesEnd?: boolean;
}

/** A response with any status; `json` is undefined when the body is not JSON. */
export interface ControllerAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  json: unknown;
  text: string;
}

/** Requests to one controller, with the identity's certificate; follows no redirects. */
export interface ControllerClient {
  /** Throws a MeshError of kind `unreachable`, `untrusted` or `protocol`. */
  request: (url: URL, controllerRequest: ControllerRequest) => Promise<ControllerAnswer>;
  /** The difference between the clocks by the latest response, in words; empty if they agree. */
  clockProblem: () => string;
  /** Aborts all requests; those with `outlivesEnd` after two seconds. */
  end: () => void;
  /** Aborts all remaining requests and closes all sockets. */
  close: () => void;
}

const MAX_BODY_BYTES = 8_388_608;
/** Logging out must not delay the caller for longer. */
const LOGOUT_TIMEOUT_MS = 2000;

/** A client whose requests are bounded by `timeoutMs` each. */
export function createControllerClient(
  { secureContext }: Pick<Identity, 'secureContext'>,
  timeoutMs: number,
): ControllerClient {
  const [ended, closed] = [new AbortController(), new AbortController()];
  let timer: NodeJS.Timeout | undefined;
  let clocks = '';
  const agents = createAgents({ context: secureContext }, { connectTimeoutMs: timeoutMs });
  return {
    request: async (url, controllerRequest) => {
      if (url.protocol !== 'https:') throw new MeshError('protocol', `controller ${url.host}: ERR_INVALID_PROTOCOL`);
      const { signal } = controllerRequest.outlivesEnd ? closed : ended;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        const answer = await open({ url, agents, signal: limit, resends: true, ...encoded(controllerRequest) });
        const text = (await collectBytes(answer.body, { maxBytes: MAX_BODY_BYTES, tooLarge })).toString();
        clocks = clockProblem(new Date(), answer.headers.date);
        return { status: answer.status, headers: answer.headers, json: parseJson(text), text };
      } catch (error) {
        if (limit.aborted) throw new MeshError('unreachable', `controller ${url.host}: no answer in time`);
        throw classifySocketError(error, `controller ${url.host}`);
      }
    },
    clockProblem: () => clocks,
    end: () => {
      ended.abort();
      timer ??= setTimeout(() => closed.abort(), LOGOUT_TIMEOUT_MS);
    },
    close: () => {
      clearTimeout(timer);
      closed.abort();
      ended.abort();
      closeAgents(agents);
    },
  };
}

function encoded({ method, headers, body }: ControllerRequest) {
  const isForm = body instanceof URLSearchParams;
  const type = { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' };
  return {
    method,
    headers: { accept: 'application/json', ...(body && type), ...headers },
    body: isForm ? body.toString() : body && JSON.stringify(body),
  };
}

function tooLarge(): MeshError {
  return new MeshError('protocol', 'the controller sent more than 8 MiB');
}
