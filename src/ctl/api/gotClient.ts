import { once } from 'node:events';
import type { Agent as HttpAgent, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import got from 'got';
import { collectBytes } from '../../platform/collectBytes.ts';

/** One agent for each scheme. */
export interface Agents {
  http: HttpAgent;
  https: HttpsAgent;
}

/** One request, sent once. */
export interface HttpRequest {
  url: URL;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  headers: Record<string, string>;
  body: string | Buffer | Readable | undefined;
  agents: Agents;
}

/** A complete response, whatever its status. */
export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Of an answer that tells why there is no download. */
const errorLimit = { maxBytes: 1_048_576, tooLarge: () => new Error('the answer is too long') };

/** Milliseconds. An upload may take as long as it likes while bytes flow; a push is judged before it is answered. */
const timeout = { lookup: 10_000, connect: 10_000, secureConnect: 10_000, socket: 60_000, response: 300_000 };

/** Every request: follows no redirect, which would carry the bearer elsewhere. */
const options = {
  timeout,
  https: { rejectUnauthorized: true },
  retry: { limit: 0 },
  throwHttpErrors: false,
  followRedirect: false,
  decompress: false,
} as const;

/** Sends a request. Throws got's errors, which hold the bearer. */
export async function send({ url, method, headers, body, agents }: HttpRequest): Promise<HttpAnswer> {
  const sent = { ...options, method, headers, ...(body !== undefined && { body }) };
  const response = await got(url, { ...sent, agent: agents, responseType: 'buffer' });
  return { status: response.statusCode, headers: response.headers, body: Buffer.from(response.body) };
}

/** Sends a request; the bytes of a successful answer go to `receive`, those of any other one are its body. */
export async function download(
  { url, method, headers, agents }: HttpRequest,
  receive: (bytes: Readable) => Promise<void>,
): Promise<HttpAnswer> {
  const bytes = got.stream(url, { ...options, method, headers, agent: agents });
  // whoever reads it next learns of an error, however early that came
  bytes.on('error', () => undefined);
  const [response] = (await once(bytes, 'response')) as [IncomingMessage];
  const answer = { status: response.statusCode ?? 0, headers: response.headers };
  if (answer.status !== 200) return { ...answer, body: await collectBytes(bytes, errorLimit) };
  await receive(bytes);
  return { ...answer, body: Buffer.alloc(0) };
}
