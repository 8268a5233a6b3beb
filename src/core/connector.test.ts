import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { createTlsContext, parseAuthorities } from './certificateAuthorities.ts';
import { createCa } from '../../fixtures/world/servers/crypto/ca.ts';
import { type Agents, closeAgents, createAgents, resolveAddresses } from './connector.ts';
import { open } from './nodeClient.ts';

let server: Server;
let agents: Agents;
let openNow: number;
let most: number;
beforeEach(async () => {
  [openNow, most] = [0, 0];
  server = createServer((_request, response) => void setImmediate(() => response.end('x'))).listen(0, '127.0.0.1');
  server.on('connection', (socket) => {
    most = Math.max(most, ++openNow);
    socket.once('close', () => openNow--);
  });
  await once(server, 'listening');
  const trust = { context: createTlsContext(parseAuthorities(createCa().pem)!) };
  agents = createAgents(trust, { connectTimeoutMs: 5000, maxSockets: 2 });
});
afterEach(() => {
  closeAgents(agents);
  server.close();
});

const found: LookupFunction = (_host, _options, callback) =>
  setImmediate(() => callback(null, [{ address: '127.0.0.1', family: 4 }]));
const notFound: LookupFunction = (_host, _options, callback) =>
  setImmediate(() => callback(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []));

async function get(lookup: LookupFunction = found): Promise<number> {
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://somewhere.test:${port}/`);
  const { status, body } = await open({ url, method: 'GET', headers: {}, agents, lookup });
  body.resume();
  return status;
}

it('opens no more connections than allowed while names are looked up', async () => {
  expect(await Promise.all(Array.from({ length: 6 }, () => get()))).toEqual(Array(6).fill(200));
  expect(most).toBe(2);
});

it('passes on the error of a lookup, and serves the calls that wait', async () => {
  let failures = 2;
  const lookup: LookupFunction = (...asked) => (failures-- > 0 ? notFound(...asked) : found(...asked));
  const results = await Promise.allSettled(Array.from({ length: 4 }, () => get(lookup)));
  const codes = results.map((each) =>
    each.status === 'fulfilled' ? each.value : (each.reason as { code: string }).code,
  );
  expect(codes.sort()).toEqual([200, 200, 'ENOTFOUND', 'ENOTFOUND']);
});

it('fails a call whose agent is closed during the lookup', async () => {
  const call = get((...lookup) => {
    closeAgents(agents);
    found(...lookup);
  });
  await expect(call).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it('does not wait for a lookup longer than for a connection', async () => {
  const call = resolveAddresses({ host: 'somewhere.test', lookup: () => undefined }, 20);
  const { addresses } = await call;
  const error = await new Promise((settle) => addresses.lookup('somewhere.test', { all: true }, settle));
  expect(error).toMatchObject({ code: 'ETIMEDOUT' });
});

it.each([
  [1, 6000],
  [2, 3000],
  [4, 1500],
])('divides the time among %i addresses', async (count, shareMs) => {
  const addressList = Array.from({ length: count }, (_, index) => ({ address: `192.0.2.${index}`, family: 4 }));
  const lookup: LookupFunction = (_host, _options, callback) => callback(null, addressList);
  const { addresses } = await resolveAddresses({ host: 'somewhere.test', lookup }, 6000);
  expect(addresses.autoSelectFamilyAttemptTimeout).toBeLessThanOrEqual(shareMs);
  expect(addresses.autoSelectFamilyAttemptTimeout).toBeGreaterThan(shareMs * 0.9);
});
