import { once } from 'node:events';
import got, { type Response } from 'got';
import { Fault } from '../../../../machines/fault.ts';
import { ignoreOnceRead, type Client } from './opener.ts';

/** The client for bodies that are too big to be held. It takes as long to load as a whole tick: only for who needs it. */
export const send: Client = async ({ url, method, headers, body, agents, signal }) => {
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
  stream.on('error', ignoreOnceRead);
  const [response] = (await once(stream, 'response').catch(unwrap)) as [Response];
  return { status: response.statusCode, headers: response.headers, body: stream };
};

/** What a transport's own connection says is wrong goes on as it is. */
function unwrap(error: unknown): never {
  throw (error as Error).cause instanceof Fault ? (error as Error).cause : error;
}
