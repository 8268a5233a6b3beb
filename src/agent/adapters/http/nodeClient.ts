import { once } from 'node:events';
import { request as overHttp, type IncomingMessage } from 'node:http';
import { request as overHttps } from 'node:https';
import { ignoreError, type SendRequest } from './httpRequest.ts';

/** The client for the calls of every tick: it loads no other module. */
export const send: SendRequest = async ({ url, method, headers, body, agents, signal }) => {
  const request =
    url.protocol === 'https:'
      ? overHttps(url, { method, headers, signal, agent: agents.https, rejectUnauthorized: true })
      : overHttp(url, { method, headers, signal, agent: agents.http });
  request.on('error', ignoreError).end(body);
  // a request without a connection ignores its signal, so `once` observes it too
  const [response] = (await once(request, 'response', { signal })) as [IncomingMessage];
  response.on('error', ignoreError);
  return { status: response.statusCode ?? 0, headers: response.headers, body: response };
};
