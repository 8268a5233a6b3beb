import { once } from 'node:events';
import got, { type Response } from 'got';
import { Fault } from '../../../../machines/fault.ts';
import { ignoreError, type SendRequest } from './httpRequest.ts';

/**
 * The client for bodies that are too large for memory. Loading it takes as long as a whole tick, so it is loaded on
 * demand.
 */
export const send: SendRequest = async ({ url, method, headers, body, agents, signal }) => {
  const stream = got.stream(url, {
    method,
    headers,
    ...(body !== undefined && { body }),
    agent: agents,
    signal,
    https: { rejectUnauthorized: true },
    retry: { limit: 0 },
    throwHttpErrors: false,
    followRedirect: false,
    decompress: false,
  });
  stream.on('error', ignoreError);
  const [response] = (await once(stream, 'response').catch(throwCause)) as [Response];
  return { status: response.statusCode, headers: response.headers, body: stream };
};

/** A fault of the transport is passed on as it is. */
function throwCause(error: unknown): never {
  throw (error as Error).cause instanceof Fault ? (error as Error).cause : error;
}
