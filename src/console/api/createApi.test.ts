import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from './createApi.ts';

/** Calls a server that answers like this. */
async function call(answer: RequestListener, method?: 'POST'): Promise<unknown> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await request(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { ...(method && { method }) });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const answers = (status: number, body: string) => call((_request, response) => response.writeHead(status).end(body));

it('has the body of an answer, in which each text can be seen', async () => {
  expect(await answers(200, '{"sites":["a\\u202eb"],"count":1}')).toEqual({ sites: ['a\ufffdb'], count: 1 });
  expect(await answers(204, '')).toBeUndefined();
});

it('throws the error of the service', async () => {
  const error = { code: 'ENV_EXISTS', message: 'there is \ufffd', refusals: [{ code: 'A', detail: 'b' }] };
  const body = JSON.stringify({ error: { ...error, message: 'there is \u0007' } });
  await expect(answers(409, body)).rejects.toMatchObject({ status: 409, ...error });
});

it.each([
  [200, '<html>Sign in to the network</html>'],
  [502, '<html>Bad Gateway</html>'],
  [404, '{"message":"no route"}'],
  [500, 'null'],
  [503, ''],
])('throws that something else has answered: %d %s', async (status, body) => {
  const foreign = { status, code: `HTTP_${status}`, message: expect.stringContaining('not the service') as string };
  await expect(answers(status, body)).rejects.toMatchObject(foreign);
});

it('throws that there is no answer, if the connection ends within it', async () => {
  const cut: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('{"a":', () => response.destroy());
  };
  await expect(call(cut)).rejects.toMatchObject({ status: 0, code: 'UNREACHABLE' });
  await expect(call(cut, 'POST')).rejects.toMatchObject({ status: 0, code: 'UNANSWERED' });
});
