import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { type Agent, request, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import type { SecureContext, TLSSocket } from 'node:tls';
import { createClock } from '../../../fixtures/world/servers/clock.ts';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { startHttpsServer, type TestServer } from '../../../fixtures/world/servers/http/httpsServer.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { waitUntil } from '../../../fixtures/world/wait.ts';
import { createAgents } from '../../core/connector.ts';
import type { Settings } from '../config/configKeys.ts';
import { createAgentPool, createTransport } from './transport.ts';
import type { Peer } from './classifyError.rules.ts';
import { createTrustStore, openSystemRoots, type Trust } from './trustStore.ts';

const ca = createCa();
let server: TestServer;
let dir: string;
let settings: Settings;
beforeEach(async () => {
  const certificate = ca.issue(['tenancy.deploy', '192.0.2.7']);
  const answer = () => ({ status: 200 });
  server = await startHttpsServer({ certificate, clock: createClock(), routeOf: () => 'any', answer });
  dir = tempDir();
  await writeFile(join(dir, 'ca.pem'), ca.pem);
  settings = {
    transport: 'proxy',
    connect_timeout_s: 5,
    tenancy_ca: join(dir, 'ca.pem'),
    secretstore_ca: null,
  } as Settings;
});
afterEach(async () => {
  await server.stop();
});

const trusts = (now?: () => number) => createTrustStore(settings, openSystemRoots(null), now);
const pool = (by = trusts()) =>
  createAgentPool(by, (_peer, trust) =>
    createAgents(trust, { address: { host: '127.0.0.1', port: server.port }, connectTimeoutMs: 5000 }),
  );

async function call(url: string, options: RequestOptions): Promise<number> {
  const outgoing = request(url, options).end();
  const [response] = (await once(outgoing, 'response')) as [{ statusCode: number; resume: () => void }];
  response.resume();
  return response.statusCode;
}

describe('a dialled address', () => {
  it.each(['https://tenancy.deploy', 'https://192.0.2.7:8443'])('carries calls with the name of %s', async (url) => {
    const { agents, close } = pool();
    expect(await call(url, { agent: agents('tenancy').https })).toBe(200);
    expect(server.requests[0]!.headers.host).toBe(url.slice('https://'.length));
    close();
  });

  it.each(['https://other.deploy', 'https://127.0.0.1'])(
    'does not accept a certificate that is not for %s',
    async (url) => {
      const { agents, close } = pool();
      const outgoing = call(url, { agent: agents('tenancy').https });
      await expect(outgoing).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
      close();
    },
  );

  test('trusts each service only by its own CA', async () => {
    const { agents, close } = pool();
    const outgoing = call('https://tenancy.deploy', { agent: agents('secretstore').https });
    await expect(outgoing).rejects.toMatchObject({ code: expect.stringMatching(/ISSUER|VERIFY/) as string });
    close();
  });

  test('verifies certificates whatever the options of a call are', async () => {
    server.setCertificate(createCa().issue(['tenancy.deploy']));
    const { agents, close } = pool();
    const unverifiedOptions = {
      agent: agents('tenancy').https,
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    };
    await expect(call('https://tenancy.deploy', unverifiedOptions)).rejects.toMatchObject({
      code: expect.stringMatching(/ISSUER|VERIFY/) as string,
    });
    close();
  });
});

describe('after a close', () => {
  const url = 'https://tenancy.deploy';

  /** Whether a new connection resumes the TLS session of an old one. */
  async function resumed(agent: Agent): Promise<boolean> {
    const outgoing = request(url, { agent }).end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage & { socket: TLSSocket }];
    response.resume();
    expect(outgoing.reusedSocket).toBe(false);
    return response.socket.isSessionReused();
  }

  test('the same agents open new connections that resume the old TLS sessions', async () => {
    const { agents, close } = pool();
    const { https } = agents('tenancy');
    expect(await call(url, { agent: https })).toBe(200);
    expect(agents('tenancy').https).toBe(https);
    close();
    expect(agents('tenancy').https).toBe(https);
    expect(await resumed(https)).toBe(true);
    close();
  });

  test('no session is resumed an hour after its agents were created', async () => {
    let nowMs = 0;
    const { agents, close } = pool(trusts(() => nowMs));
    expect(await resumed(agents('tenancy').https)).toBe(false);
    close();
    nowMs = 3_599_999;
    expect(await resumed(agents('tenancy').https)).toBe(true);
    close();
    nowMs = 3_600_000;
    expect(await resumed(agents('tenancy').https)).toBe(false);
    close();
  });

  test('only the new CA is trusted after a change', async () => {
    const { agents, close } = pool();
    const { https } = agents('tenancy');
    expect(await call(url, { agent: https })).toBe(200);
    close();
    const another = createCa();
    await writeFile(join(dir, 'ca.pem'), another.pem);
    const outgoing = call(url, { agent: agents('tenancy').https });
    await expect(outgoing).rejects.toMatchObject({ code: expect.stringMatching(/ISSUER|VERIFY/) as string });
    server.setCertificate(another.issue(['tenancy.deploy']));
    expect(await call(url, { agent: agents('tenancy').https })).toBe(200);
    close();
  });
});

describe('the TLS context', () => {
  /** The input for opening the agents of both peers; the second ones at that time. */
  function contextsOf(settings: Settings, laterMs = 0): SecureContext[] {
    let nowMs = 0;
    const opened: SecureContext[] = [];
    const open = (_peer: Peer, trust: Trust) => {
      opened.push(trust.context);
      return createAgents(trust, { connectTimeoutMs: 5000 });
    };
    const { agents, close } = createAgentPool(
      createTrustStore(settings, openSystemRoots(null), () => nowMs),
      open,
    );
    agents('tenancy');
    nowMs = laterMs;
    agents('secretstore');
    close();
    return opened;
  }

  test('is created once for peers with the same CA, and kept for an hour', () => {
    const shared = { ...settings, secretstore_ca: settings.tenancy_ca };
    expect(new Set(contextsOf(shared)).size).toBe(1);
    expect(new Set(contextsOf(shared, 3_599_999)).size).toBe(1);
    expect(new Set(contextsOf(shared, 3_600_000)).size).toBe(2);
  });

  test('contains one CA only', async () => {
    await writeFile(join(dir, 'other.pem'), createCa().pem);
    expect(new Set(contextsOf({ ...settings, secretstore_ca: join(dir, 'other.pem') })).size).toBe(2);
  });
});

describe('the agents with all roots', () => {
  test('are the current agents when a CA file is configured', async () => {
    const { agents, agentsWithAllRoots, close } = pool();
    const before = agents('tenancy');
    await writeFile(join(dir, 'ca.pem'), createCa().pem);
    expect(agentsWithAllRoots('tenancy')).toBe(before);
    close();
  });

  test('replace agents with remembered roots, whose connections are closed by `close`', async () => {
    const bundle = { path: '/bundle.crt', pem: ca.pem };
    const roots = { remembered: () => bundle, all: () => bundle, remember: () => undefined };
    const { agents, agentsWithAllRoots, close } = pool(createTrustStore(settings, roots));
    const before = agents('secretstore').https;
    expect(await call('https://tenancy.deploy', { agent: before })).toBe(200);
    const sockets = () => Object.values(before.freeSockets).flatMap((each) => each ?? []);
    await waitUntil('the connection is free', async () => sockets().length === 1);
    const [socket] = sockets();
    const { https } = agentsWithAllRoots('secretstore');
    expect(https).not.toBe(before);
    expect(agentsWithAllRoots('secretstore').https).toBe(https);
    close();
    expect(socket!.destroyed).toBe(true);
    expect(agents('secretstore').https).toBe(https);
    close();
  });
});

it.each(['system', 'proxy', 'sdk'] as const)('the transport %s has its name', (transport) => {
  expect(createTransport({ ...settings, transport, mesh: {} as Settings['mesh'] }).name).toBe(transport);
});
