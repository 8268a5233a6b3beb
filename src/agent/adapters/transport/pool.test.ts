import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request, type Agent, type RequestOptions } from 'node:https';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SecureContext, TLSSocket } from 'node:tls';
import { createCa } from '../../../../fixtures/servers/ca.ts';
import { createClock } from '../../../../fixtures/servers/clock.ts';
import { serve, type Served } from '../../../../fixtures/servers/http.ts';
import { until } from '../../../../fixtures/wait.ts';
import type { Settings } from '../../config/settings.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';
import { boundedAgents } from './agents.ts';
import { pooledAgents } from './pool.ts';
import { systemRoots } from './roots.ts';
import { createTransport } from './transport.ts';
import { createTrusts, type Trust } from './trust.ts';

const ca = createCa();
let server: Served;
let dir: string;
let settings: Settings;
beforeEach(async () => {
  const certificate = ca.issue(['tenancy.deploy', '192.0.2.7']);
  const answer = () => ({ status: 200 });
  server = await serve({ certificate, clock: createClock(), routeOf: () => 'any', answer });
  dir = await mkdtemp(join(tmpdir(), 'deployd-pool-'));
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
  await rm(dir, { recursive: true });
});

const trusts = (now?: () => number) => createTrusts(settings, systemRoots(null), now);
const pool = (by = trusts()) =>
  pooledAgents(by, (_peer, trust) =>
    boundedAgents({ address: { host: '127.0.0.1', port: server.port }, connectTimeoutMs: 5000 }, trust),
  );

async function ask(url: string, options: RequestOptions): Promise<number> {
  const asked = request(url, options).end();
  const [response] = (await once(asked, 'response')) as [{ statusCode: number; resume: () => void }];
  response.resume();
  return response.statusCode;
}

describe('a dialled address', () => {
  it.each(['https://tenancy.deploy', 'https://192.0.2.7:8443'])('carries calls under the name of %s', async (url) => {
    const { agents, close } = pool();
    expect(await ask(url, { agent: agents('tenancy').https })).toBe(200);
    expect(server.requests[0]!.headers.host).toBe(url.slice('https://'.length));
    close();
  });

  it.each(['https://other.deploy', 'https://127.0.0.1'])(
    'does not excuse a certificate that is not for %s',
    async (url) => {
      const { agents, close } = pool();
      const asked = ask(url, { agent: agents('tenancy').https });
      await expect(asked).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
      close();
    },
  );

  test('does not make one CA vouch for both services', async () => {
    const { agents, close } = pool();
    const asked = ask('https://tenancy.deploy', { agent: agents('secretstore').https });
    await expect(asked).rejects.toMatchObject({ code: expect.stringMatching(/ISSUER|VERIFY/) as string });
    close();
  });

  test('cannot be talked out of checking by the options of a call', async () => {
    server.present(createCa().issue(['tenancy.deploy']));
    const { agents, close } = pool();
    const careless = {
      agent: agents('tenancy').https,
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    };
    await expect(ask('https://tenancy.deploy', careless)).rejects.toMatchObject({
      code: expect.stringMatching(/ISSUER|VERIFY/) as string,
    });
    close();
  });
});

describe('after a close', () => {
  const url = 'https://tenancy.deploy';

  /** Whether a new connection goes on with the TLS session of an old one. */
  async function resumed(agent: Agent): Promise<boolean> {
    const asked = request(url, { agent }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage & { socket: TLSSocket }];
    response.resume();
    expect(asked.reusedSocket).toBe(false);
    return response.socket.isSessionReused();
  }

  test('the same agents go on over new connections, whose TLS sessions are those of the old ones', async () => {
    const { agents, close } = pool();
    const { https } = agents('tenancy');
    expect(await ask(url, { agent: https })).toBe(200);
    expect(agents('tenancy').https).toBe(https);
    close();
    expect(agents('tenancy').https).toBe(https);
    expect(await resumed(https)).toBe(true);
    close();
  });

  test('no session is resumed an hour after its agents were made', async () => {
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

  test('a CA that has changed is the only one that is trusted', async () => {
    const { agents, close } = pool();
    const { https } = agents('tenancy');
    expect(await ask(url, { agent: https })).toBe(200);
    close();
    const another = createCa();
    await writeFile(join(dir, 'ca.pem'), another.pem);
    const asked = ask(url, { agent: agents('tenancy').https });
    await expect(asked).rejects.toMatchObject({ code: expect.stringMatching(/ISSUER|VERIFY/) as string });
    server.present(another.issue(['tenancy.deploy']));
    expect(await ask(url, { agent: agents('tenancy').https })).toBe(200);
    close();
  });
});

describe('the TLS context', () => {
  /** What the agents of both peers are opened with, the second ones at that time. */
  function contextsOf(settings: Settings, laterMs = 0): SecureContext[] {
    let nowMs = 0;
    const opened: SecureContext[] = [];
    const open = (_peer: Peer, trust: Trust) => {
      opened.push(trust.context);
      return boundedAgents({ address: null, connectTimeoutMs: 5000 }, trust);
    };
    const { agents, close } = pooledAgents(
      createTrusts(settings, systemRoots(null), () => nowMs),
      open,
    );
    agents('tenancy');
    nowMs = laterMs;
    agents('secretstore');
    close();
    return opened;
  }

  test('is made once for peers that have the same CA, and lasts an hour for both', () => {
    const same = { ...settings, secretstore_ca: settings.tenancy_ca };
    expect(new Set(contextsOf(same)).size).toBe(1);
    expect(new Set(contextsOf(same, 3_599_999)).size).toBe(1);
    expect(new Set(contextsOf(same, 3_600_000)).size).toBe(2);
  });

  test('is made of one CA alone', async () => {
    await writeFile(join(dir, 'other.pem'), createCa().pem);
    expect(new Set(contextsOf({ ...settings, secretstore_ca: join(dir, 'other.pem') })).size).toBe(2);
  });
});

describe('the widest agents', () => {
  test('are those of the CA file as it was read', async () => {
    const { agents, widest, close } = pool();
    const before = agents('tenancy');
    await writeFile(join(dir, 'ca.pem'), createCa().pem);
    expect(widest('tenancy')).toBe(before);
    close();
  });

  test('are others than those of the roots that vouched before, of which nothing stays open after a close', async () => {
    const bundle = { path: '/bundle.crt', pem: ca.pem };
    const roots = { proven: () => bundle, all: () => bundle, note: () => undefined };
    const { agents, widest, close } = pool(createTrusts(settings, roots));
    const before = agents('secretstore').https;
    expect(await ask('https://tenancy.deploy', { agent: before })).toBe(200);
    const sockets = () => Object.values(before.freeSockets).flatMap((each) => each ?? []);
    await until('the connection is free', async () => sockets().length === 1);
    const [socket] = sockets();
    const { https } = widest('secretstore');
    expect(https).not.toBe(before);
    expect(widest('secretstore').https).toBe(https);
    close();
    expect(socket!.destroyed).toBe(true);
    expect(agents('secretstore').https).toBe(https);
    close();
  });
});

it.each(['system', 'proxy', 'sdk'] as const)('the transport %s goes by its name', (transport) => {
  expect(createTransport({ ...settings, transport, mesh: {} as Settings['mesh'] }).name).toBe(transport);
});
