import { once } from 'node:events';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import tls from 'node:tls';
import { createCa } from '../../fixtures/world/servers/crypto/ca.ts';
import { type ControllerClient, createControllerClient } from './controllerClient.ts';

const ca = createCa();
const { key, cert } = ca.issue(['127.0.0.1']);

let server: https.Server;
let client: ControllerClient;
/** Requests that were received by each connection, oldest first. */
let received: Map<Socket, number>;
/** Whether the server resets a connection at its n-th request. */
let resets: (request: number, connection: number) => boolean;

beforeEach(async () => {
  received = new Map();
  server = https.createServer({ key, cert }, (request, response) => {
    const count = (received.get(request.socket) ?? 0) + 1;
    received.set(request.socket, count);
    if (resets(count, received.size)) request.socket.destroy();
    else response.end('{}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const secureContext = tls.createSecureContext({ key, cert, ca: ca.pem });
  client = createControllerClient({ secureContext }, 5000);
});
afterEach(async () => {
  client.close();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const send = () => {
  const { port } = server.address() as AddressInfo;
  return client.request(new URL(`https://127.0.0.1:${port}/version`), { method: 'POST', body: {} });
};

describe('a request on a kept connection that the controller resets', () => {
  it('is sent again on a new connection', async () => {
    resets = (request) => request === 2;
    await send();
    expect(await send()).toMatchObject({ status: 200, json: {} });
    expect([...received.values()]).toEqual([2, 1]);
  });

  it('fails if the controller resets the new connection too', async () => {
    resets = (request, connection) => request === 2 || connection === 2;
    await send();
    await expect(send()).rejects.toThrow('ECONNRESET');
    expect([...received.values()]).toEqual([2, 1]);
  });
});

it('sends a request on a new connection that the controller resets only once', async () => {
  resets = () => true;
  await expect(send()).rejects.toMatchObject({ kind: 'unreachable' });
  expect([...received.values()]).toEqual([1]);
});
