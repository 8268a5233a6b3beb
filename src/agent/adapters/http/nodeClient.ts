import { once } from 'node:events';
import { request as overHttp, type IncomingMessage } from 'node:http';
import { request as overHttps } from 'node:https';
import { ignoreOnceRead, type Client } from './opener.ts';

/** The client for the calls of every tick: nothing has to be loaded for it. */
export const send: Client = async ({ url, method, headers, body, agents, signal }) => {
  const request =
    url.protocol === 'https:'
      ? overHttps(url, { method, headers, signal, agent: agents.https, rejectUnauthorized: true })
      : overHttp(url, { method, headers, signal, agent: agents.http });
  request.on('error', ignoreOnceRead).end(body);
  // by itself a request hears of its signal only once it has a connection
  const [response] = (await once(request, 'response', { signal })) as [IncomingMessage];
  response.on('error', ignoreOnceRead);
  return { status: response.statusCode ?? 0, headers: response.headers, body: response };
};
