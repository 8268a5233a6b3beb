import { once } from 'node:events';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import { collectBytes } from '../core/streams.ts';
import type { Identity } from './identity.ts';
import { classifySocketError, MeshError, parseJson } from './meshError.ts';

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
}

/** Requests to one controller, with the identity's certificate; follows no redirects. */
export interface ControllerClient {
  /** Throws a MeshError of kind `unreachable`, `untrusted` or `protocol`. */
  request: (url: URL, controllerRequest: ControllerRequest) => Promise<ControllerAnswer>;
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
  const agent = new https.Agent({ keepAlive: true, secureContext, rejectUnauthorized: true });
  return {
    request: async (url, controllerRequest) => {
      const { signal } = controllerRequest.outlivesEnd ? closed : ended;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        return await sendOnLiveConnection(() => {
          const { method } = controllerRequest;
          return https.request(url, { method, agent, signal: limit, ...requestHeaders(controllerRequest) });
        }, controllerRequest);
      } catch (error) {
        if (limit.aborted) throw new MeshError('unreachable', `controller ${url.host}: no answer in time`);
        throw classifySocketError(error, `controller ${url.host}`);
      }
    },
    end: () => {
      ended.abort();
      timer ??= setTimeout(() => closed.abort(), LOGOUT_TIMEOUT_MS);
    },
    close: () => {
      clearTimeout(timer);
      closed.abort();
      ended.abort();
      agent.destroy();
    },
  };
}

function requestHeaders({ headers, body }: ControllerRequest): { headers: Record<string, string> } {
  const isForm = body instanceof URLSearchParams;
  return {
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' }),
      ...headers,
    },
  };
}

/** A controller may close an idle connection while a request is on its way: the request is sent again on another one. */
async function sendOnLiveConnection(
  open: () => ClientRequest,
  controllerRequest: ControllerRequest,
): Promise<ControllerAnswer> {
  for (;;) {
    const request = open();
    try {
      return await sendRequest(request, controllerRequest);
    } catch (error) {
      if (!request.reusedSocket || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    }
  }
}

async function sendRequest(request: ClientRequest, { body }: ControllerRequest): Promise<ControllerAnswer> {
  request.end(
    body === undefined ? undefined : body instanceof URLSearchParams ? body.toString() : JSON.stringify(body),
  );
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const text = await readBody(response);
  return { status: response.statusCode ?? 0, headers: response.headers, json: parseJson(text) };
}

async function readBody(response: IncomingMessage): Promise<string> {
  return (await collectBytes(response, { maxBytes: MAX_BODY_BYTES, tooLarge })).toString();
}

function tooLarge(): MeshError {
  return new MeshError('protocol', 'the controller sent more than 8 MiB');
}
