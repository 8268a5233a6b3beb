import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { checkInOf } from '../../../fixtures/world/tenancy/agentBodies.ts';
import { addHost, offerBytes, type Host } from '../../../fixtures/world/tenancy/host.ts';
import { startService, type Service } from '../../../fixtures/world/tenancy/service.ts';

let service: Service;
let host: Host;
beforeAll(async () => {
  service = await startService({ limits: { headMs: 300, bodyMs: 300, uploadMs: 900, connections: 60 } });
  host = await addHost(service);
});
afterAll(() => service.stop());

async function open(): Promise<Socket> {
  const socket = connect(service.port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

const head = (path: string, ...lines: string[]) =>
  [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${host.bearer}`, 'Content-Type: application/json']
    .concat(lines, '', '')
    .join('\r\n');

/** Sends a byte at intervals until the socket is closed; returns the complete answer. */
async function trickle(socket: Socket, bytes: string): Promise<string> {
  const answer = text(socket);
  const timer = setInterval(() => socket.write(bytes), 50);
  socket.on('error', () => clearInterval(timer)).on('close', () => clearInterval(timer));
  return answer.finally(() => clearInterval(timer));
}

it('closes a connection whose head never ends', async () => {
  const socket = await open();
  socket.write('GET /healthz HTTP/1.1\r\n');
  expect(await trickle(socket, 'X: y\r\n')).toMatch(/^HTTP\/1.1 408|^$/);
});

it('answers 408 to a body that trickles in, and closes', async () => {
  const socket = await open();
  socket.write(head('/v1/agent/check-in', 'Content-Length: 100000'));
  expect(await trickle(socket, ' ')).toMatch(/^HTTP\/1.1 408 .*REQUEST_TIMEOUT/s);
});

it('stops reading a body without an end', async () => {
  const socket = await open();
  socket.write(head('/v1/agent/report', 'Transfer-Encoding: chunked'));
  const chunk = `8000\r\n${' '.repeat(0x8000)}\r\n`;
  expect(await trickle(socket, chunk.repeat(5))).toMatch(/^HTTP\/1.1 413 .*REQUEST_TOO_LARGE/s);
});

it.each([
  ['without a bearer', '/v1/agent/check-in', 'Authorization: Basic eA=='],
  ['to an unknown path', '/v1/nothing', ''],
  ['by another method', '/healthz', ''],
])('does not read the body of a request %s', async (_what, path, line) => {
  const socket = await open();
  const request = head(path, 'Transfer-Encoding: chunked', line).replaceAll('\r\n\r\n\r\n', '\r\n\r\n');
  socket.write(line === '' ? request : request.replace(/Authorization: Bearer .*\r\n/, ''));
  expect(await trickle(socket, '1\r\nx\r\n')).toMatch(/^HTTP\/1.1 40[145] .*connection: close/is);
});

it('does not wait for a body that the request does not need', async () => {
  const sha = await offerBytes(service, host.env, Buffer.alloc(9));
  const socket = await open();
  const lines = ['Host: x', `Authorization: Bearer ${host.bearer}`, 'Content-Length: 99'];
  socket.write([`GET /v1/agent/bundles/${sha} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1.1 200/);
  await once(socket.resume(), 'close');
});

it("describes a fault in a URL in the API's own form", async () => {
  const answers = await Promise.all(
    ['%zz', `v1/agent/bundles/${'x'.repeat(300)}`].map((path) => fetch(`${service.url}/${path}`)),
  );
  expect(await Promise.all(answers.map((answer) => answer.json()))).toMatchObject([
    { error: { code: 'REQUEST_INVALID' } },
    { error: { code: 'REQUEST_INVALID' } },
  ]);
});

it('continues to serve agents while idle connections keep opening', async () => {
  const idle = await Promise.all(Array.from({ length: 40 }, open));
  const closed = Promise.all(idle.map((socket) => once(socket.resume(), 'close')));
  expect((await host.checkIn()).status).toBe(200);
  await closed;
});

it('closes a connection above the limit', async () => {
  const sockets = await Promise.all(Array.from({ length: 70 }, open));
  await Promise.any(sockets.map((socket) => once(socket.resume(), 'close')));
  for (const socket of sockets) socket.destroy();
  expect((await host.post('check-in', checkInOf())).status).toBe(200);
});

it('closes a connection that does not start TLS', async () => {
  const secure = await startService({ tls: createCa().issue(['localhost']), limits: { headMs: 300 } });
  const silent = connect(secure.port, '127.0.0.1').resume();
  const garbled = connect(secure.port, '127.0.0.1').resume();
  garbled.write('GET / HTTP/1.1\r\n\r\n');
  await Promise.all([silent, garbled].map((socket) => once(socket, 'close')));
  await secure.stop();
});

it('closes a download that the client stops reading, and frees its place', async () => {
  const places = { max_requests: 5 };
  const other = await startService({ settings: places, limits: { stallMs: 1000 } });
  const reader = await addHost(other);
  const sha = await offerBytes(other, reader.env, Buffer.alloc(16 * 1024 * 1024));
  const lines = ['Host: x', `Authorization: Bearer ${reader.bearer}`];
  const socket = connect(other.port, '127.0.0.1');
  const [held] = (await once(other.app.server, 'connection')) as [Socket];
  socket.write([`GET /v1/agent/bundles/${sha} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  await once(socket, 'readable');
  expect((await reader.download(sha)).status).toBe(503);
  await once(held, 'close');
  const answer = await reader.download(sha);
  expect(answer.status).toBe(200);
  await answer.arrayBuffer();
  socket.destroy();
  await other.stop();
});

it.each(['healthz', 'v1/envs', 'v1/nothing', 'console/sign-in', 'metrics', 'v1/agent/bundles/x'])(
  'forbids caching, guessing and plain HTTP in the answer to %s',
  async (path) => {
    const { headers } = await fetch(`${service.url}/${path}`);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'strict-transport-security': 'max-age=31536000',
    });
  },
);

it('rejects a head that is too large', async () => {
  const socket = await open();
  socket.end(head('/healthz', `X: ${'x'.repeat(20_000)}`));
  expect(await text(socket)).toMatch(/^HTTP\/1.1 431/);
});

it.each(['GET /healthz HTTP/1.1\r\n\r\n', '\u0000\u0001', 'GET / HTTP/1.1\nHost: x\r\n\n'])(
  'survives %j',
  async (bytes) => {
    const socket = await open();
    socket.end(bytes);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400/);
  },
);
