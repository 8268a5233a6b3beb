import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Duplex, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { sendRequest } from '../../../fixtures/world/servers/http/sendRequest.ts';
import { checkInOf } from '../../../fixtures/world/tenancy/agentBodies.ts';
import { addHost, offerBytes, type Host } from '../../../fixtures/world/tenancy/host.ts';
import { addOperator } from '../../../fixtures/world/tenancy/operatorClient.ts';
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

it.each([
  [2, 2],
  [3, 0],
])('of %i requests that one connection sends at once, answers %i', async (sent, answered) => {
  const socket = await open();
  const first = 'GET /.well-known/jwks.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(sent - 1);
  const last = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  socket.on('error', () => undefined).write(first + last);
  const answers = await text(socket).catch(() => '');
  expect(answers.match(/HTTP\/1.1 200/g) ?? []).toHaveLength(answered);
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

describe('a service that stops while an answer is being sent', () => {
  const authority = createCa();
  it.each([
    ['plain', 'http', {}],
    ['TLS', 'https', { tls: authority.issue(['localhost']) }],
  ])('finishes it: %s', async (_what, scheme, options) => {
    const other = await startService(options);
    const finished = new Promise((resolve) => {
      other.app.server.prependListener('request', (_request, response) => {
        response
          .once('prefinish', () => other.app.server.close())
          .once('close', () => resolve(response.writableFinished));
      });
    });
    const keepAlive = { connection: 'keep-alive' };
    const { status } = await sendRequest(`${scheme}://localhost:${other.port}/healthz`, {
      ca: authority.pem,
      headers: keepAlive,
    });
    expect({ status, isFinished: await finished }).toEqual({ status: 200, isFinished: true });
    await other.stop();
  });
});

describe('of two addresses, of which one sends much at once, the other one is not delayed', () => {
  const healthz = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
  const helloOfTls = (): Promise<Buffer> =>
    new Promise((resolve) => {
      const socket = new Duplex({ read: () => undefined, write: (bytes: Buffer) => resolve(bytes) });
      connectTls({ socket }).on('error', () => undefined);
    });
  it.each([
    ['handshakes', { tls: createCa().issue(['localhost']) }, '', helloOfTls],
    ['requests', {}, healthz, async () => Buffer.from(healthz)],
  ])('%s', async (_what, options, before, bytesOf) => {
    const other = await startService(options);
    const bytes = await bytesOf();
    let [accepted, answered] = [0, 0];
    other.app.server.on('connection', () => accepted++);
    const addresses = [...Array.from({ length: 200 }, () => '127.0.0.2'), '127.0.0.3'];
    const sockets = addresses.map((localAddress) => connect({ port: other.port, host: '127.0.0.1', localAddress }));
    for (const socket of sockets) socket.on('error', () => undefined).write(before);
    while (accepted < sockets.length) await setTimeout(10);
    if (before !== '') await Promise.all(sockets.map((socket) => once(socket, 'data')));
    for (const socket of sockets) socket.once('data', () => answered++).write(bytes);
    await once(sockets.at(-1)!, 'data');
    expect(answered).toBeLessThan(50);
    for (const socket of sockets) socket.destroy();
    await other.stop();
  });
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

describe('the least rate of bodies', () => {
  const rates = { rateMs: 300, rateBytes: 65_536 };
  const sha = '0'.repeat(64);
  /** Opens a connection that sends a request, and parts of its body; resolves when the service closes it. */
  const sent = async (other: Service, request: string, bytes: Buffer) => {
    const socket = connect(other.port, '127.0.0.1');
    socket.on('error', () => undefined).write(request);
    const timer = setInterval(() => socket.writable && socket.write(bytes), 50);
    const closed = new Promise((resolve) => socket.once('close', resolve)).finally(() => clearInterval(timer));
    return { socket, closed: closed.then(() => 'closed') };
  };
  const late = () => setTimeout(2500, 'open');

  it.each([
    ['ends an upload below it', rates, 10, 'closed'],
    ['leaves an upload above it', rates, 40_000, 'open'],
    ['leaves a slow upload where a lower rate is configured', { ...rates, rateBytes: 10 }, 10, 'open'],
  ])('%s', async (_what, limits, bytes, expected) => {
    const other = await startService({ limits });
    const { token } = await addOperator(other, 'deployer');
    const lines = [`Authorization: Bearer ${token}`, 'Content-Type: application/octet-stream'];
    const request = [`PUT /v1/bundles?sha256=${sha} HTTP/1.1`, 'Host: x', ...lines, 'Content-Length: 99999999', '', ''];
    const { socket, closed } = await sent(other, request.join('\r\n'), Buffer.alloc(bytes));
    expect(await Promise.race([closed, late()])).toBe(expected);
    socket.destroy();
    await other.stop();
  });

  // The kernel lets the service send again when a client has read some hundred kilobytes.
  const downloadRates = { ...rates, rateMs: 800 };
  it.each([
    ['ends a download below it', downloadRates, 10, 'closed'],
    ['leaves a download above it', downloadRates, 60_000, 'open'],
    ['leaves a slow download where more time is configured', { ...rates, rateMs: 60_000 }, 10, 'open'],
  ])('%s', async (_what, limits, bytes, expected) => {
    const other = await startService({ limits });
    const reader = await addHost(other);
    const whole = Buffer.alloc(16 * 1024 * 1024);
    const wanted = await offerBytes(other, reader.env, whole);
    const parts = Array.from({ length: 256 }, (_, at) => whole.subarray(at * 65_536, (at + 1) * 65_536));
    other.bundles.open = async () => Readable.from(parts);
    const socket = connect(other.port, '127.0.0.1').on('error', () => undefined);
    const [held] = (await once(other.app.server, 'connection')) as [Socket];
    const lines = ['Host: x', `Authorization: Bearer ${reader.bearer}`];
    socket.write([`GET /v1/agent/bundles/${wanted} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
    const timer = setInterval(() => void socket.read(bytes), 20);
    // The client notices it only after the last byte that was sent.
    expect(await Promise.race([once(held, 'close').then(() => 'closed'), late()])).toBe(expected);
    clearInterval(timer);
    socket.destroy();
    await other.stop();
  });
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
