import { setTimeout as sleep } from 'node:timers/promises';
import type { Authorities } from '../../core/certificateAuthorities.ts';
import { createJsonClient, type JsonAnswer, type JsonRequest } from '../../core/httpClient.ts';
import { isLaggingNode, parseErrorBody, TransportError } from '../../core/http.rules.ts';
import { isObject } from '../../core/json.rules.ts';
import { PeerError, reasonOf } from './bundleStorage.ts';

/** Address of a secretstore, and the certificate authorities to trust. */
export interface SecretstoreAddress {
  url: string;
  authorities: Authorities;
  /** Null for the root namespace. */
  namespace: string | null;
}

/** One call; `path` follows `/v1/`. */
export interface SecretstoreCall extends JsonRequest {
  /** Name of the call in messages. */
  what: string;
  /** Missing for a login. */
  token?: string;
  /** Statuses other than 2xx that the caller handles. */
  accepts?: readonly number[];
  /** The body contains values of secrets, which an error could repeat. */
  isSecret?: true;
}

/** The HTTP interface of OpenBao and Vault. */
export interface SecretstoreClient {
  /** Throws `PeerError` for any status that is neither 2xx nor accepted. */
  call: (call: SecretstoreCall) => Promise<Pick<JsonAnswer, 'status' | 'json'>>;
  close: () => void;
}

const bounds = { timeoutMs: 5000, maxBytes: 4_194_304, maxSockets: 64 };

/** Milliseconds to wait before each retry of a call that a lagging node did not serve. */
const laggingDelaysMs = [250, 500];

export function createSecretstoreClient({ url, authorities, namespace }: SecretstoreAddress): SecretstoreClient {
  const client = createJsonClient({ baseUrl: `${url}/v1/`, authorities, ...bounds });
  return {
    call: async (call) => {
      const headers = {
        ...call.headers,
        'x-vault-request': 'true',
        ...(namespace !== null && { 'x-vault-namespace': namespace }),
        ...(call.token !== undefined && { 'x-vault-token': call.token }),
      };
      const { method, path, body } = call;
      const send = () =>
        client.send({ method, path, headers, ...(body && { body }) }).catch((error: unknown) => {
          throw callFailure(call, error);
        });
      let answer = await send();
      for (const delayMs of laggingDelaysMs) {
        if (!isLaggingNode(answer.status)) break;
        await sleep(delayMs);
        answer = await send();
      }
      const isExpected = (answer.status >= 200 && answer.status < 300) || call.accepts?.includes(answer.status);
      if (isExpected !== true) throw refusal(call, answer);
      return answer;
    },
    close: client.close,
  };
}

/** The error for an unusable answer. */
export function unusableAnswer(what: string): PeerError {
  return new PeerError('secretstore', `the answer to the ${what} cannot be read`);
}

function callFailure({ what }: SecretstoreCall, error: unknown): unknown {
  return error instanceof TransportError
    ? new PeerError('secretstore', `${what}: ${reasonOf(error, 'secretstore_ca')}`)
    : error;
}

function refusal({ what, isSecret }: SecretstoreCall, { status, headers, json }: JsonAnswer): PeerError {
  const said = isSecret && status < 429 ? null : parseErrorBody(json).text;
  const text = status === 307 ? 'the node is a standby' : said;
  const why = text === null ? '' : ` (${text})`;
  return new PeerError('secretstore', `${what} answered ${status}${why}`, retryAfterS(headers['retry-after']));
}

/** Parses a header in seconds, if the value is plausible. */
function retryAfterS(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,3}$/.test(header) ? Math.max(1, Number(header)) : undefined;
}

/** Returns the value if it is an object, otherwise an empty object. */
export function recordOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** The `data` of an answer to the call `what`. Throws `PeerError` if there is none. */
export function dataOf(json: unknown, what: string): Record<string, unknown> {
  const { data } = recordOf(json);
  if (!isObject(data)) throw unusableAnswer(what);
  return data;
}

/** The setup's calls to the secretstore, with an administrator's token. Each throws `PeerError` if it is refused. */
export interface Administration {
  /** Returns the object at a path of the API; null if there is none. */
  read: (path: string) => Promise<Record<string, unknown> | null>;
  write: (path: string, fields: object) => Promise<void>;
  close: () => void;
}

/** Opens the administration of a secretstore; the token stays in memory until this is closed. */
export function openAdministration(address: SecretstoreAddress, token: string): Administration {
  const client = createSecretstoreClient(address);
  return {
    read: async (path) => {
      const what = `read of ${path}`;
      const { status, json } = await client.call({ what, method: 'GET', path, token, accepts: [404] });
      return status === 404 ? null : dataOf(json, what);
    },
    write: async (path, fields) => {
      await client.call({ what: `write of ${path}`, method: 'POST', path, token, body: fields });
    },
    close: client.close,
  };
}
