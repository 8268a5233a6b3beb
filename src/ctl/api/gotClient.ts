import type { Agent as HttpAgent, IncomingHttpHeaders } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import got from 'got';

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
  body: string | Readable | undefined;
  agents: Agents;
}

/** A complete response, whatever its status. */
export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Milliseconds. An upload may take as long as it likes while bytes flow; a push is judged before it is answered. */
const timeout = { lookup: 10_000, connect: 10_000, secureConnect: 10_000, socket: 60_000, response: 300_000 };

/** Sends a request; follows no redirect, which would carry the bearer elsewhere. Throws got's errors, which hold the bearer. */
export async function send({ url, method, headers, body, agents }: HttpRequest): Promise<HttpAnswer> {
  const response = await got(url, {
    method,
    headers,
    ...(body !== undefined && { body }),
    agent: agents,
    timeout,
    https: { rejectUnauthorized: true },
    retry: { limit: 0 },
    throwHttpErrors: false,
    followRedirect: false,
    decompress: false,
    responseType: 'buffer',
  });
  return { status: response.statusCode, headers: response.headers, body: Buffer.from(response.body) };
}
