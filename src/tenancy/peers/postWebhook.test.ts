import { type AddressInfo, createServer } from 'node:net';
import { type Certificate, createCa, serverNames } from '../../../fixtures/world/servers/crypto/ca.ts';
import { type Receiver, startReceiver } from '../../../fixtures/world/tenancy/receiver.ts';
import { parseAuthorities } from '../../core/certificateAuthorities.ts';
import { createPostWebhook, type WebhookTransport } from './postWebhook.ts';

const ca = createCa();
const authorities = parseAuthorities(ca.pem)!;
const { signal } = new AbortController();
const body = '{"at":"münchen"}';
const headers = { 'content-type': 'application/json' };

let receiver: Receiver;
const started = async (certificate?: Certificate) => void (receiver = await startReceiver(certificate));
afterEach(() => receiver.stop());

const send = (changes: Partial<WebhookTransport> & { url?: string; answerBytes?: number } = {}) => {
  const { url = receiver.url, answerBytes = 0, ...transport } = changes;
  const post = createPostWebhook({ authorities, timeoutMs: 60_000, allowsPrivate: true, ...transport });
  return post({ url: new URL(url), headers, body, answerBytes, signal });
};

it('sends the body over TLS to a trusted certificate, by address and by name', async () => {
  await started(ca.issue(serverNames));
  expect(await send()).toEqual({ status: 204, retryAfterS: null, body: '' });
  expect(await send({ url: receiver.url.replace('127.0.0.1', 'localhost') })).toMatchObject({ status: 204 });
  expect(receiver.arrivals.map((each) => each.body)).toEqual([body, body]);
  expect(receiver.arrivals[0]!.headers).toMatchObject({ ...headers, 'content-length': '17' });
});

it.each([
  ['another authority', () => createCa().issue(serverNames), 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ['another name', () => ca.issue(['elsewhere.example']), 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['an old date', () => ca.issue(serverNames, { expired: true }), 'CERT_HAS_EXPIRED'],
])('sends nothing to a server whose certificate has %s', async (_what, issue, code) => {
  await started(issue());
  expect(await send()).toMatchObject({
    status: null,
    code,
    untrusted: { problem: expect.stringContaining(code) as string },
  });
  expect(receiver.arrivals).toEqual([]);
});

it('returns a redirect and does not follow it', async () => {
  await started();
  receiver.replies.push((response) => response.writeHead(307, { location: '/elsewhere' }).end());
  expect(await send()).toEqual({ status: 307, retryAfterS: null, body: '' });
  expect(receiver.arrivals).toHaveLength(1);
});

it('returns the time to retry', async () => {
  await started();
  receiver.replies.push((response) => response.writeHead(429, { 'retry-after': '17' }).end());
  expect(await send()).toEqual({ status: 429, retryAfterS: 17, body: '' });
});

it('does not read an endless answer', async () => {
  await started();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  receiver.replies.push((response) => {
    const flood = () => void response.write(Buffer.alloc(1_000_000), (error) => (error ? resolve() : flood()));
    response.on('close', resolve).writeHead(200);
    flood();
  });
  expect(await send()).toMatchObject({ status: 200 });
  await closed;
});

it('reads only the requested part of an answer, even of an endless one', async () => {
  await started();
  receiver.replies.push((response) => response.end('{"pass":true}'));
  expect(await send({ answerBytes: 4096 })).toEqual({ status: 200, retryAfterS: null, body: '{"pass":true}' });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  receiver.replies.push((response) => {
    const flood = () => void response.write('x'.repeat(3000), (error) => (error ? resolve() : flood()));
    response.on('close', resolve).writeHead(200);
    flood();
  });
  expect(await send({ answerBytes: 4096 })).toMatchObject({ status: 200, body: 'x'.repeat(4096) });
  await closed;
});

it('gives up on an answer that breaks off or never ends', async () => {
  await started();
  receiver.replies.push((response) => {
    response.writeHead(200, { 'content-length': '13' }).write('{"pass"', () => response.destroy());
  });
  expect(await send({ answerBytes: 4096 })).toEqual({ status: null, code: 'ECONNRESET' });
  receiver.replies.push((response) => void response.writeHead(200).write('{"pass"'));
  expect(await send({ answerBytes: 4096, timeoutMs: 200 })).toEqual({ status: null, code: 'TIMEOUT' });
});

it('rejects an endless head', async () => {
  await started();
  receiver.replies.push((response) => response.writeHead(200, { x: 'a'.repeat(20_000) }).end());
  expect(await send()).toEqual({ status: null, code: 'HPE_HEADER_OVERFLOW' });
});

it('gives up on an endpoint that switches to another protocol instead of answering', async () => {
  await started();
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
  receiver.replies.push((response) => void response.socket!.write(upgrade));
  expect(await send()).toEqual({ status: null, code: 'ECONNRESET' });
});

it('gives up on an endpoint that does not answer, or does not exist', async () => {
  await started();
  receiver.replies.push(() => undefined);
  expect(await send({ timeoutMs: 50 })).toEqual({ status: null, code: 'TIMEOUT' });
  const url = receiver.url;
  await receiver.stop();
  expect(await send({ url })).toEqual({ status: null, code: 'ECONNREFUSED' });
  await started();
});

it('stops with the service', async () => {
  await started();
  const stopping = new AbortController();
  receiver.replies.push(() => stopping.abort());
  const post = createPostWebhook({ authorities, timeoutMs: 60_000, allowsPrivate: true });
  const answer = await post({ url: new URL(receiver.url), headers, body, answerBytes: 0, signal: stopping.signal });
  expect(answer).toEqual({ status: null, code: 'ABORT_ERR' });
});

describe('an address that is not allowed', () => {
  let connections: number;
  let port: number;
  const trap = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => void trap.listen(0, '127.0.0.1', resolve));
    ({ port } = trap.address() as AddressInfo);
  });
  afterAll(() => void trap.close());
  beforeEach(async () => {
    connections = 0;
    await started();
  });

  it.each([
    ['loopback', 'https://127.0.0.1', false],
    ['loopback by name', 'https://localhost', false],
    ['loopback in another notation', 'https://0x7f000001', false],
    ['loopback as an IPv6 address', 'https://[::ffff:127.0.0.1]', false],
    ['cloud metadata, even if private addresses are allowed', 'https://169.254.169.254', true],
    ['this host', 'https://0.0.0.0', true],
  ])('gets no connection: %s', async (_what, origin, allowsPrivate) => {
    expect(await send({ url: `${origin}:${port}/`, allowsPrivate })).toEqual({
      status: null,
      code: 'ADDRESS_FORBIDDEN',
    });
    expect(connections).toBe(0);
  });
});
