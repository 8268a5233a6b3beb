import { createClock } from '../../fixtures/world/servers/clock.ts';
import { createCa, serverNames } from '../../fixtures/world/servers/crypto/ca.ts';
import { startHttpsServer, type TestServer } from '../../fixtures/world/servers/http/httpsServer.ts';
import { parseAuthorities } from './certificateAuthorities.ts';
import { createFetch, type Fetch } from './nodeClient.ts';

const ca = createCa();
const limits = { maxBytes: 1000, connectTimeoutMs: 5000 };
let server: TestServer;
let fetch: Fetch;
beforeEach(async () => {
  server = await startHttpsServer({
    ...{ certificate: ca.issue(serverNames), clock: createClock(), routeOf: () => 'any' },
    answer: ({ path }) => ({ status: 200, body: { text: 'x'.repeat(path === '/large' ? 2000 : 500) } }),
  });
  fetch = createFetch(parseAuthorities(ca.pem), limits);
});
afterEach(() => server.stop());

const call = (path: string, signal?: AbortSignal) => fetch(server.url + path, signal ? { signal } : {});

it('passes on a response, and follows no redirect', async () => {
  expect(await (await call('/')).json()).toEqual({ text: 'x'.repeat(500) });
  server.answerNext('any', { status: 307, headers: { location: '/elsewhere' } });
  expect((await call('/')).status).toBe(307);
  expect(server.requests).toHaveLength(2);
});

it('calls only trusted peers by TLS', async () => {
  const plain = createFetch(null, limits);
  await expect(plain(server.url, {})).rejects.toMatchObject({ name: 'TransportError', code: 'UNTRUSTED' });
  expect(server.connections().came).toBe(0);
});

it('has a code for a body that is too large', async () => {
  await expect(call('/large')).rejects.toMatchObject({ name: 'TransportError', code: 'TOO_LARGE' });
});

it.each(['head', 'body'] as const)('has a code for a connection that breaks at the %s', async (cut) => {
  server.answerNext('any', { cut });
  await expect(call('/')).rejects.toMatchObject({ name: 'TransportError', code: 'ECONNRESET' });
});

it.each(['head', 'body'] as const)('has a code for a response that stalls at the %s', async (stall) => {
  server.answerNext('any', { stall });
  await expect(call('/', AbortSignal.timeout(200))).rejects.toMatchObject({
    name: 'TransportError',
    code: 'ETIMEDOUT',
  });
});
