import { once } from 'node:events';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Fabric, openFabric } from '../../../fixtures/world/mesh/fabric.ts';
import { createClock } from '../../../fixtures/world/servers/clock.ts';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { startHttpsServer, type TestServer } from '../../../fixtures/world/servers/http/httpsServer.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { asNobody } from '../../../fixtures/world/users.ts';
import type { Settings } from '../config/configKeys.ts';
import { type Transport, createTransport } from './transport.ts';
import { createHttpClient } from './httpClient.ts';

const ca = createCa();
let server: TestServer;
let fabric: Fabric;
let dir: string;
let settings: Settings;
let transport: Transport;
beforeEach(async () => {
  const answer = () => ({ status: 200, body: { ok: true } });
  const certificate = ca.issue(['tenancy.deploy']);
  server = await startHttpsServer({ certificate, clock: createClock(), routeOf: () => 'any', answer });
  fabric = await openFabric({ 'tenancy.deploy': { port: server.port, encrypted: true } });
  dir = tempDir();
  await writeFile(join(dir, 'ca.pem'), ca.pem);
  settings = {
    transport: 'sdk',
    tenancy_url: 'https://tenancy.deploy',
    connect_timeout_s: 5,
    http_timeout_s: 5,
    tenancy_ca: join(dir, 'ca.pem'),
    secretstore_ca: null,
    mesh: {
      identity_file: fabric.identityFile,
      tenancy_service: 'tenancy.deploy',
      secretstore_service: 'secretstore',
    },
  } as Settings;
  transport = createTransport(settings);
});
afterEach(async () => {
  transport.close();
  await Promise.all([server.stop(), fabric.stop()]);
});

function call(url = settings.tenancy_url, signal = new AbortController().signal) {
  const http = createHttpClient({ settings: { ...settings, tenancy_url: url }, transport, version: '0' });
  return http.call({ peer: 'tenancy', method: 'GET', path: '/v1/x', operation: 'a call', requestId: 'id', signal });
}

const line = () => call().then(String, (error: unknown) => (error as Error).message);

describe('transport sdk (spec §15)', () => {
  it('carries calls inside the mesh, with TLS for the name of the URL inside it', async () => {
    expect(await call()).toMatchObject({ status: 200, json: { ok: true } });
    expect(server.requests[0]!.headers.host).toBe('tenancy.deploy');
    expect(fabric.routers.flatMap(({ appData }) => appData)).toHaveLength(1);
  });

  it('carries plain http too, which the mesh protects', async () => {
    const open = createServer((_request, response) => response.writeHead(204).end()).listen(0, '127.0.0.1');
    await once(open, 'listening');
    fabric.faultMode.services['tenancy.deploy']!.port = (open.address() as AddressInfo).port;
    expect(await call('http://tenancy.deploy')).toMatchObject({ status: 204 });
    open.closeAllConnections();
    open.close();
  });

  it.each(['https', 'http'])('does not reuse a connection of %s that its peer has closed', async (scheme) => {
    const answer = (_request: unknown, response: ServerResponse) => void response.writeHead(204).end();
    const open = scheme === 'http' ? createServer(answer) : https.createServer(ca.issue(['tenancy.deploy']), answer);
    await once(open.listen(0, '127.0.0.1'), 'listening');
    fabric.faultMode.services['tenancy.deploy']!.port = (open.address() as AddressInfo).port;
    expect(await call(`${scheme}://tenancy.deploy`)).toMatchObject({ status: 204 });
    const [channel] = fabric.routers.flatMap(({ channels }) => [...channels]);
    open.closeIdleConnections();
    await once(channel!, 'close');
    expect(await call(`${scheme}://tenancy.deploy`)).toMatchObject({ status: 204 });
    open.closeAllConnections();
    open.close();
  });

  it('reuses a connection at once, but not after it was idle, as its peer may have closed it unnoticed', async () => {
    fabric.faultMode.services['tenancy.deploy']!.hidesEnd = true;
    await call();
    server.answerNext('any', { slow: { bytes: 1, everyMs: 150 } });
    await call();
    const dials = () => fabric.routers.flatMap(({ appData }) => appData).length;
    expect(dials()).toBe(1);
    const [channel] = fabric.routers.flatMap(({ channels }) => [...channels]);
    await once(channel!, 'close');
    await call();
    expect(dials()).toBe(2);
  });

  it('leaves nothing open when it is closed during a call', async () => {
    fabric.faultMode.dial = 'silent';
    const stop = new AbortController();
    const result = call(settings.tenancy_url, stop.signal).catch((error: unknown) => error);
    while (fabric.routers.every(({ appData }) => appData.length === 0)) await new Promise(setImmediate);
    const channels = fabric.routers.flatMap(({ channels }) => [...channels]);
    const closed = channels.map((channel) => once(channel, 'close'));
    stop.abort();
    transport.close();
    expect(await result).toMatchObject({ ending: 'stopped' });
    await Promise.all(closed);
  });

  it('rejects a certificate of another name, although the mesh is trusted', async () => {
    server.setCertificate(ca.issue(['other.deploy']));
    expect(await line()).toMatch(/^TLS_UNTRUSTED: tenancy service https:\/\/tenancy.deploy: /);
    while (fabric.routers.some(({ channels }) => channels.size > 0)) await new Promise(setImmediate);
    expect(server.requests).toEqual([]);
  });

  it('names an unusable identity, and dials nothing', async () => {
    await writeFile(fabric.identityFile, '{}');
    expect(await line()).toBe(
      `transport sdk: identity ${fabric.identityFile} is malformed: neither ztAPI nor ztAPIs is the https address of a controller`,
    );
    await rm(fabric.identityFile);
    expect(await line()).toBe(`transport sdk: identity ${fabric.identityFile} is not there`);
    expect(fabric.controller.requests).toEqual([]);
  });

  it('names an identity that is not readable by this user', async () => {
    transport.agents('tenancy');
    await chmod(fabric.identityFile, 0o000);
    await chmod(join(fabric.identityFile, '..'), 0o755);
    expect(await asNobody(line)).toBe(`transport sdk: identity ${fabric.identityFile} is not readable by this user`);
  });

  it.each<[string, (faults: Fabric['faultMode']) => unknown, string | RegExp]>([
    ['a deleted identity', (faults) => (faults.loginStatus = 401), 'AGENT_UNAUTHENTICATED: mesh identity refused'],
    ['a second factor', (faults) => (faults.demandsSecondFactor = true), /^transport sdk: the identity is asked for/],
    [
      'a service that is not granted',
      (faults) => (faults.services = {}),
      'temporary network failure: mesh: neither the service tenancy.deploy nor tenancy.deploy:443 is granted to the identity (the identity needs the role attributes #deploy-agent and #secretstore-client)',
    ],
    [
      'a service without a terminator',
      (faults) => (faults.dial = { words: 'service x has no terminators' }),
      'temporary network failure: mesh: service tenancy.deploy: service x has no terminators',
    ],
    [
      'routers too busy',
      (faults) => (faults.hello = 'busy'),
      /^temporary network failure: mesh: edge router .* too busy$/,
    ],
    [
      'a host without a key',
      (faults) => (faults.services['tenancy.deploy']!.hidesKey = true),
      'PROTOCOL_INVALID: mesh: service tenancy.deploy must be encrypted, but its host offers no key',
    ],
  ])('reports %s with its line', async (_name, prepare, expected) => {
    prepare(fabric.faultMode);
    expect(await line()).toEqual(
      typeof expected === 'string' ? expected : (expect.stringMatching(expected) as unknown),
    );
    expect(server.requests).toEqual([]);
  });
});
