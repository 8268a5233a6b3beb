import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { freePort } from '../../../fixtures/world/wait.ts';
import { listenForMetrics, type MetricsListener } from './metrics.ts';

let listener: MetricsListener | null = null;
afterEach(async () => {
  await listener?.close();
  listener = null;
});

async function ask(options: object, method = 'GET', path = '/metrics') {
  const call = request({ ...options, method, path, agent: false }).end();
  const [response] = (await once(call, 'response')) as [import('node:http').IncomingMessage];
  return { status: response.statusCode, type: response.headers['content-type'], body: await text(response) };
}

const found = { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' };

it('serves the current text on a port of the loopback address', async () => {
  const port = await freePort();
  let words = '';
  listener = await listenForMetrics(`http://127.0.0.1:${port}`, () => words);
  expect(await ask({ port })).toEqual({ ...found, body: '' });
  words = 'a 1\n';
  expect(await ask({ port })).toEqual({ ...found, body: 'a 1\n' });
});

it('answers no other path and accepts no body', async () => {
  const port = await freePort();
  listener = await listenForMetrics(`http://127.0.0.1:${port}`, () => 'a 1\n');
  const calls = [ask({ port }, 'GET', '/'), ask({ port }, 'GET', '/metrics?a'), ask({ port }, 'POST')];
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([404, 404, 405]);
});

it('listens on a socket, also if a killed process left one', async () => {
  const socketPath = join(tempDir(), 'a socket');
  const address = `unix://${socketPath}`;
  const left = createServer().listen(socketPath);
  await once(left, 'listening');
  listener = await listenForMetrics(address, () => 'a 1\n');
  expect(await ask({ socketPath })).toEqual({ ...found, body: 'a 1\n' });
  left.close();
});

it('replaces only a socket', async () => {
  const path = join(tempDir(), 'file');
  await writeFile(path, 'precious');
  await expect(listenForMetrics(`unix://${path}`, () => '')).rejects.toThrow('EADDRINUSE');
  expect(await readFile(path, 'utf8')).toBe('precious');
});

it.each(['127.0.0.1', '[::1]'])('listens at port 80 of %s', async (host) => {
  listener = await listenForMetrics(`http://${host}:80`, () => 'a 1\n').catch((error: unknown) => {
    expect(error).toMatchObject({ port: 80 }); // it belongs to root, or to a user who was there before
    return null;
  });
  if (listener !== null) expect(await ask({ host: host.replace(/[[\]]/g, '') })).toEqual({ ...found, body: 'a 1\n' });
});

it('uses the path of a socket literally', async () => {
  const socketPath = join(tempDir(), 'a%20b#c?d');
  listener = await listenForMetrics(`unix://${socketPath}`, () => 'a 1\n');
  expect(await ask({ socketPath })).toEqual({ ...found, body: 'a 1\n' });
});

it('throws if it cannot listen', async () => {
  const port = await freePort();
  listener = await listenForMetrics(`http://127.0.0.1:${port}`, () => '');
  await expect(listenForMetrics(`http://127.0.0.1:${port}`, () => '')).rejects.toThrow('EADDRINUSE');
  await expect(listenForMetrics('unix:///nowhere/metrics.sock', () => '')).rejects.toThrow('EACCES');
});
