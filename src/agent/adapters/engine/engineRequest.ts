import { once } from 'node:events';
import { type Agent, request, type IncomingMessage } from 'node:http';
import { ignoreError } from '../http/httpRequest.ts';
import { readJsonBody } from '../http/jsonBody.ts';

/** Where and how to reach an engine. */
export interface EngineEndpoint {
  socketPath: string;
  agent: Agent;
  /** Milliseconds without a byte after which a request fails. */
  timeout: number;
}

/** Path and query parameters of a GET request to the engine. */
export interface EngineRequest {
  path: string;
  query?: Record<string, string>;
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** JSON of an engine, and what its headers say of it. */
export interface EngineResponse {
  json: unknown;
  isPodman: boolean;
  /** Of Docker's API, such as `1.51`; '' if it was not said. */
  apiVersion: string;
}

/**
 * Sends one request. Not by dockerode: an inspection
 * contains the container's environment, so secrets, and dockerode would leave a copy of it in freed memory. A tick on a
 * converged host also need not load dockerode.
 */
export async function requestJson(
  engine: EngineEndpoint,
  engineRequest: EngineRequest,
  signal: AbortSignal,
): Promise<EngineResponse> {
  const response = await sendRequest(engine, engineRequest, signal);
  const json = await readJsonBody(response, MAX_ANSWER_BYTES);
  const { statusCode, headers } = response;
  if (statusCode !== 200) throw refusal(response, json);
  if (json === undefined) throw Object.assign(new Error('not JSON'), { code: 'NOT_JSON' });
  return {
    json,
    isPodman: 'libpod-api-version' in headers,
    apiVersion: [headers['api-version'] ?? ''].flat().join(),
  };
}

/** The error of a response that is no success, with what the engine says; without JSON, only the words of its status. */
function refusal({ statusCode, statusMessage = '' }: IncomingMessage, json: unknown): Error {
  const { message = statusMessage } = (json ?? {}) as { message?: string };
  return Object.assign(new Error(message), { statusCode });
}

/** The body of a response that never ends, without an idle timeout. Throws what the engine says instead. */
export async function requestStream(
  engine: EngineEndpoint,
  engineRequest: EngineRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const response = await sendRequest(engine, engineRequest, signal);
  if (response.statusCode === 200) return response.setTimeout(0);
  throw refusal(response, await readJsonBody(response, MAX_ANSWER_BYTES));
}

async function sendRequest(
  engine: EngineEndpoint,
  { path, query = {} }: EngineRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const outgoing = request({ ...engine, signal, path: `${path}?${new URLSearchParams(query).toString()}` });
  outgoing.on('timeout', () => outgoing.destroy()).on('error', ignoreError);
  const [response] = (await once(outgoing.end(), 'response')) as [IncomingMessage];
  return response;
}
