import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { createClock } from '../../fixtures/world/servers/clock.ts';
import { createCa, serverNames } from '../../fixtures/world/servers/crypto/ca.ts';
import { type Answer, startHttpsServer, type TestServer } from '../../fixtures/world/servers/http/httpsServer.ts';
import { createTlsContext, parseAuthorities } from './certificateAuthorities.ts';
import { closeAgents, createAgents } from './connector.ts';
import { createJsonClient, type JsonClient, type JsonRequest, open as openCall, send } from './httpClient.ts';
import { collectBytes } from './streams.ts';

const ca = createCa();
const request: JsonRequest = { method: 'POST', path: '/call', headers: { 'x-token': 'canary' }, body: { a: 'canary' } };

let server: TestServer;
let client: JsonClient;
let answer: Answer;
beforeEach(async () => {
  const clock = createClock();
  const certificate = ca.issue(serverNames);
  server = await startHttpsServer({ certificate, clock, routeOf: (_method, path) => path, answer: () => answer });
  client = open(ca.pem);
  answer = { status: 200, body: { known: true } };
});
afterEach(async () => {
  client.close();
  await server.stop();
});

function open(pem: string, timeoutMs = 60_000): JsonClient {
  return createJsonClient({
    baseUrl: server.url,
    authorities: parseAuthorities(pem)!,
    timeoutMs,
    maxBytes: 1000,
    maxSockets: 2,
  });
}

it.each<[string, Answer, object]>([
  ['JSON', { status: 200, body: { known: true } }, { status: 200, json: { known: true } }],
  ['a refusal', { status: 403, body: { errors: [] } }, { status: 403, json: { errors: [] } }],
  ['what is not JSON', { status: 200, body: '<html>' }, { status: 200, json: undefined }],
  ['nothing', { status: 204 }, { status: 204, json: undefined }],
  ['a redirect, which is not followed', { status: 307, headers: { location: '/elsewhere' } }, { status: 307 }],
])('passes on %s', async (_what, given, expected) => {
  answer = given;
  expect(await client.send(request)).toMatchObject(expected);
  expect(server.requests.map(({ path }) => path)).toEqual(['/call']);
});

describe('an error', () => {
  it('of a body that is too large has a code', async () => {
    answer = { status: 200, body: { text: 'x'.repeat(2000) } };
    await expect(client.send(request)).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });

  it('of a path that would lead elsewhere has a code', async () => {
    await expect(client.send({ ...request, path: '/a/../b' })).rejects.toMatchObject({ code: 'INVALID_PATH' });
    expect(server.requests).toEqual([]);
  });

  it('of a server that is not trusted has the code of TLS', async () => {
    client.close();
    client = open(createCa().pem);
    await expect(client.send(request)).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  });

  it('of a server that does not answer in time has a code', async () => {
    client.close();
    client = open(ca.pem, 200);
    server.answerNext('/call', { stall: 'head' });
    await expect(client.send(request)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  it('holds nothing of the request', async () => {
    await server.stopListening();
    const error = await client.send(request).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    expect(JSON.stringify(Object.getOwnPropertyDescriptors(error))).not.toContain('canary');
    expect((error as Error).cause).toBeUndefined();
  });
});

it('repeats a call on a kept connection that the server has closed, once', async () => {
  await client.send(request);
  server.answerNext('/call', { cut: 'head' });
  expect(await client.send(request)).toMatchObject({ status: 200 });
  expect(server.requests).toHaveLength(3);
  client.close();
  client = open(ca.pem);
  server.answerNext('/call', { cut: 'head' });
  await expect(client.send(request)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(server.requests).toHaveLength(4);
});

/** Answers the head of an answer as soon as a request is there, and its body in a later segment. */
const slowBody = `
const { createServer } = require('node:net');
const server = createServer({ noDelay: true }, (socket) => socket.on('data', (bytes) => {
  if (!String(bytes).endsWith('}')) return;
  socket.write('HTTP/1.1 200 OK\\r\\nContent-Length: 24\\r\\n\\r\\n');
  setTimeout(() => socket.write('x'.repeat(24)), 2);
}));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

const stops: (() => unknown)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

it('takes an answer whose body arrives after its head while the loop is busy', async () => {
  const child = spawn(process.execPath, ['-e', slowBody], { stdio: ['ignore', 'pipe', 'inherit'] });
  stops.push(() => child.kill());
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const url = new URL(`http://127.0.0.1:${String(line).trim()}/`);
  const agents = createAgents({ context: createTlsContext(parseAuthorities(ca.pem)!) }, { connectTimeoutMs: 5000 });
  stops.push(() => closeAgents(agents));
  const call = { url, method: 'PUT', headers: {}, body: '{"a":1}', agents } as const;
  const limit = { maxBytes: 100, tooLarge: () => new Error('too large') };
  const sendOnce = async () => (await send(call)).body;
  const openOnce = async (pauseMs: number) => {
    const { body } = await openCall(call);
    await setTimeout(pauseMs);
    return collectBytes(body, limit);
  };
  for (let round = 0; round < 40; round++) {
    const calls = [sendOnce(), sendOnce(), sendOnce(), openOnce(0), openOnce(3)];
    const busy = setInterval(() => {
      for (const end = performance.now() + Math.random() * 6; performance.now() < end;);
    }, 0);
    const answers = await Promise.all(calls).finally(() => clearInterval(busy));
    expect(answers.map(({ length }) => length)).toEqual([24, 24, 24, 24, 24]);
  }
});
