import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  faultyControllers,
  faultyRouters,
  startFaultyServer,
  type FaultyServer,
} from '../../fixtures/world/mesh/faultyServer.ts';
import { openFabric, type Fabric } from '../../fixtures/world/mesh/fabric.ts';
import { noFaults, type FaultMode } from '../../fixtures/world/mesh/faultMode.ts';
import { startRouter } from '../../fixtures/world/mesh/router.ts';
import { sampleOf } from '../../fixtures/world/sampling/sample.ts';
import { createMesh, type Mesh, MeshError } from './mesh.ts';

/** Milliseconds within which a dial succeeds or fails. */
const limitMs = 5000;

let echo: Server;
let fabric: Fabric;
let services: FaultMode['services'];
/** Logins that an earlier test, which failed, has left. */
let openBefore = 0;
const faulty = { controllers: new Map<string, FaultyServer>(), routers: new Map<string, FaultyServer>() };
const neverAborted = new AbortController().signal;
const target = { host: 'plain', port: 80, service: 'plain', isCleartext: false };

beforeAll(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => undefined).pipe(socket));
  await once(echo.listen(0, '127.0.0.1'), 'listening');
  services = { plain: { port: (echo.address() as AddressInfo).port, encrypted: false } };
  fabric = await openFabric(services);
  for (const [name, fault] of Object.entries(faultyControllers))
    faulty.controllers.set(name, await startFaultyServer(fault, fabric.certificate));
  for (const [name, fault] of Object.entries(faultyRouters))
    faulty.routers.set(name, await startFaultyServer(fault, fabric.certificate));
});
afterAll(async () => {
  await Promise.all([...faulty.controllers.values(), ...faulty.routers.values()].map(({ stop }) => stop()));
  await fabric.stop();
  echo.close();
});
beforeEach(() => {
  Object.assign(fabric.faultMode, noFaults(services));
  openBefore = fabric.sessions.logins().open;
});

/** A client with these controllers. */
async function meshAt(urls: string[]): Promise<Mesh> {
  return createMesh({ identityFile: await fabric.identityAt(urls), timeoutMs: limitMs });
}

async function echoed(mesh: Mesh): Promise<string> {
  const connection = await mesh.dial(target, neverAborted);
  return text(connection.end('words'));
}

/** The words of many clients, few of them at once: each has its limit, also on a busy machine. */
async function allEchoed(meshes: Mesh[], atOnce = 7): Promise<string[]> {
  const words: string[] = [];
  for (let from = 0; from < meshes.length; from += atOnce)
    words.push(...(await Promise.all(meshes.slice(from, from + atOnce).map(echoed))));
  return words;
}

/** Closes clients; expects that nothing of them is left. */
async function expectClosed(...meshes: Mesh[]): Promise<void> {
  await Promise.all(meshes.map((mesh) => mesh.close()));
  await expectNothingLeft();
}

/** Expects that every login is logged out and every connection closed. */
async function expectNothingLeft(): Promise<void> {
  expect(fabric.sessions.logins()).toMatchObject({ open: openBefore });
  const servers = [...faulty.controllers.values(), ...faulty.routers.values(), fabric.controller];
  const routers = () => fabric.routers.flatMap(({ channels }) => [...channels]);
  const sockets = () => [...servers.flatMap((server) => [...server.sockets]), ...routers()];
  while (sockets().length > 0) await new Promise(setImmediate);
}

/** The working one after, between and before two others. */
function ordersOf(one: string, other: string, good: string): string[][] {
  return [
    [one, other, good],
    [one, good, other],
    [good, one, other],
  ];
}

const urlOf = ({ port }: FaultyServer, protocol = 'https') => `${protocol}://127.0.0.1:${port}`;

/** A third of the orders, of which three successive runs draw all. */
const third = (orders: string[][][]) => sampleOf(orders.flat(), orders.length);

describe.each(Object.keys(faultyControllers))('a controller that %s', (name) => {
  it('leaves time for a working one, with any third one, in any order', async () => {
    const first = urlOf(faulty.controllers.get(name)!);
    const others = [...faulty.controllers.values()];
    const orders = third(others.map((other) => ordersOf(first, urlOf(other), fabric.controller.url)));
    const meshes = await Promise.all(orders.map(meshAt));
    expect(await allEchoed(meshes)).toEqual(orders.map(() => 'words'));
    await expectClosed(...meshes);
  });
});

describe.each(Object.keys(faultyRouters))('a router that %s', (name) => {
  it('leaves time for a working one, with any third one, in any order', async () => {
    const [good] = fabric.routers;
    const first = urlOf(faulty.routers.get(name)!, 'tls');
    const others = [...faulty.routers.values()];
    const orders = third(others.map((other) => ordersOf(first, urlOf(other, 'tls'), good!.address)));
    const waiting = [...orders];
    fabric.faultMode.routers = () => waiting.shift() ?? [];
    const mesh = await meshAt([fabric.controller.url]);
    const meshes = [mesh, ...(await Promise.all(orders.slice(1).map(() => meshAt([fabric.controller.url]))))];
    expect(await allEchoed(meshes)).toEqual(orders.map(() => 'words'));
    await expectClosed(...meshes);
  });

  it('is replaced within the same dial by a router announced meanwhile', async () => {
    const waiting = [[urlOf(faulty.routers.get(name)!, 'tls')]];
    fabric.faultMode.routers = () => waiting.shift() ?? [fabric.routers[1]!.address];
    const mesh = await meshAt([fabric.controller.url]);
    expect(await echoed(mesh)).toBe('words');
    await expectClosed(mesh);
  });
});

it('routers that all die during a transfer are replaced in the same tick', async () => {
  const [dying, next] = [await startRouter(fabric.certificate, fabric), fabric.routers[0]!.address];
  const waiting = [[dying.address]];
  fabric.faultMode.routers = () => waiting.shift() ?? [next];
  const mesh = await meshAt([fabric.controller.url]);
  const connection = await mesh.dial(target, neverAborted);
  connection.write('words');
  await once(connection, 'data');
  await Promise.all([once(connection, 'error'), dying.stop()]);
  expect(await echoed(mesh)).toBe('words');
  expect(fabric.sessions.logins().open).toBe(openBefore + 1);
  await expectClosed(mesh);
});

it('a dial session that failed is not used by the next dial', async () => {
  const waiting = [[], []] as string[][];
  const sessionRequests = () => fabric.controller.requests.filter((request) => request.endsWith('sessions')).length;
  fabric.faultMode.routers = () => waiting.shift() ?? [fabric.routers[0]!.address];
  const mesh = await meshAt([fabric.controller.url]);
  const before = sessionRequests();
  await expect(echoed(mesh)).rejects.toMatchObject({ kind: 'unreachable' });
  fabric.faultMode.unknownSessions = 1;
  expect(await echoed(mesh)).toBe('words');
  expect(sessionRequests()).toBe(before + 4);
  await expectClosed(mesh);
});

/** Another controller of the same network, which does not respond to requests of this name. */
async function unresponsive(word: string): Promise<string> {
  const faults = { ...noFaults(services), delay: (request: string) => (request.endsWith(word) ? never : noDelay) };
  return (await fabric.addController(faults)).url;
}
const [never, noDelay] = [new Promise(() => undefined), Promise.resolve()];

describe('a controller that stops responding', () => {
  it.each(['version', 'authenticate', 'services', 'sessions'])('to %s leaves time for a working one', async (word) => {
    const mesh = await meshAt([
      await unresponsive(word),
      await unresponsive(word === 'sessions' ? 'version' : word),
      fabric.controller.url,
    ]);
    expect(await echoed(mesh)).toBe('words');
    await expectClosed(mesh);
  });

  it('does not delay the next dial', async () => {
    const mesh = await meshAt([await unresponsive('sessions'), fabric.controller.url]);
    expect(await echoed(mesh)).toBe('words');
    const request = fabric.controller.requests.length;
    expect(await echoed(mesh)).toBe('words');
    expect(fabric.controller.requests.slice(request)).toEqual([]);
    await mesh.close();
  });
});

it('a slow controller has the whole time limit, although others do not respond', async () => {
  fabric.faultMode.delay = (request) => (request.endsWith('version') ? sleep(limitMs / 2) : noDelay);
  const nobody = urlOf(faulty.controllers.get('says nothing')!);
  const mesh = await meshAt([fabric.controller.url, nobody, nobody]);
  expect(await echoed(mesh)).toBe('words');
  await mesh.close();
});

/** Another controller of the same network, with these faults. */
async function controllerWith(faults: Partial<FaultMode>): Promise<string> {
  return (await fabric.addController({ ...noFaults(services), ...faults })).url;
}

describe.each(['certificate', 'oidc'] as const)('a login by %s at several controllers', (login) => {
  const controllers: Record<string, () => Promise<string>> = {
    good: () => controllerWith({ login }),
    refusing: () => controllerWith({ login, loginStatus: 401 }),
    invalid: () => controllerWith({ login, loginStatus: 400 }),
    overloaded: () => controllerWith({ login, loginStatus: 503 }),
    silent: () => unresponsive('version'),
    absent: async () => urlOf(faulty.controllers.get('refuses connections')!),
  };

  it.each<[string[], string]>([
    [['refusing', 'good'], 'words'],
    [['refusing', 'refusing', 'good'], 'words'],
    [['silent', 'refusing', 'good'], 'words'],
    [['refusing', 'refusing'], 'refused'],
    [['refusing', 'absent'], 'refused'],
    [['silent', 'refusing'], 'refused'],
    [['overloaded', 'refusing'], 'refused'],
    [['refusing', 'invalid'], 'protocol'],
    [['absent', 'overloaded'], 'unreachable'],
  ])('of which the states are %s ends with %s', async (states, outcome) => {
    const urls = await Promise.all(states.map((state) => controllers[state]!()));
    const mesh = await meshAt(urls);
    const result = await echoed(mesh).catch((error: unknown) => error as MeshError);
    expect(result instanceof MeshError ? result.kind : result).toBe(outcome);
    const hosts = urls.map((url) => new URL(url).host);
    if (result instanceof MeshError && outcome === 'refused')
      expect(hosts.filter((host) => !result.message.includes(host))).toEqual([]);
    await expectClosed(mesh);
  });
});

describe('an OIDC provider that does not fit', () => {
  const logInWith = async (faults: Partial<FaultMode>) => {
    const warnings: string[] = [];
    const identityFile = await fabric.identityAt([fabric.controller.url]);
    const mesh = createMesh({ identityFile, timeoutMs: limitMs, warn: (line) => void warnings.push(line) });
    Object.assign(fabric.faultMode, { login: 'oidc', ...faults });
    const dialled = () => echoed(mesh).catch((error: unknown) => (error as MeshError).kind);
    const results = [await dialled(), await mesh.close().then(dialled)];
    await expectClosed(mesh);
    return { results, warnings };
  };

  it.each(['absent', 'unknown redirect', 'other origin', 'invalid grant'] as const)(
    'because it is %s leads to a login by certificate, and to one warning',
    async (oidcMisfit) => {
      const { results, warnings } = await logInWith({ oidcMisfit });
      expect(results).toEqual(['words', 'words']);
      expect(warnings).toEqual([expect.stringMatching(/^mesh: controller 127\.0\.0\.1:\d+ .*OIDC.*certificate/)]);
    },
  );

  it.each([
    [401, 'refused'],
    [503, 'unreachable'],
    [400, 'protocol'],
  ])('does not hide a login that is answered by %d', async (loginStatus, kind) => {
    const { results, warnings } = await logInWith({ loginStatus });
    expect({ results, warnings }).toEqual({ results: [kind, kind], warnings: [] });
  });
});

describe.each(['certificate', 'oidc'] as const)('every login by %s', (login) => {
  const dialled = (mesh: Mesh) => echoed(mesh).catch((error: unknown) => (error as { kind: string }).kind);
  beforeEach(() => void (fabric.faultMode.login = login));

  it.each<[string, (faults: FaultMode) => void, string]>([
    ['that works', () => undefined, 'words'],
    [
      'that the controller does not know any more',
      (faults) => (faults.sessionStatus = { status: 401, code: 'UNAUTHORIZED', once: false }),
      'unreachable',
    ],
    [
      'without a dial session',
      (faults) => (faults.sessionStatus = { status: 503, code: '', once: false }),
      'unreachable',
    ],
    ['that the routers do not know any more', (faults) => (faults.unknownSessions = 2), 'words'],
    ['that the routers never know', (faults) => (faults.unknownSessions = 99), 'unreachable'],
    ['with invalid responses', (faults) => (faults.data = { sessions: 7 }), 'protocol'],
    ['without services', (faults) => (faults.data = { services: [] }), 'notGranted'],
    ['without a router', (faults) => (faults.routers = () => []), 'unreachable'],
  ])('%s is logged out, with no connection left', async (_name, change, outcome) => {
    change(fabric.faultMode);
    const mesh = await meshAt([fabric.controller.url]);
    const before = fabric.sessions.logins().made;
    expect(await Promise.all([dialled(mesh), dialled(mesh), dialled(mesh)])).toContain(outcome);
    await mesh.close();
    expect(fabric.sessions.logins().made).toBeGreaterThan(before);
    await expectNothingLeft();
  });

  it.each([0, 0.25, 0.5, 1, 2])(
    'that ends in a tick is replaced, if routers notice that after %d times the limit',
    async (share) => {
      fabric.faultMode.sessionLookupMs = share * limitMs;
      const mesh = await meshAt([fabric.controller.url]);
      expect(await echoed(mesh)).toBe('words');
      fabric.sessions.closeAll();
      expect(await Promise.all([echoed(mesh), echoed(mesh)])).toEqual(['words', 'words']);
      await expectClosed(mesh);
    },
  );

  it('at two slow controllers that both succeed is logged out', async () => {
    const other = { ...noFaults(services), login };
    const slowly = async (request: string) => (/authenticate|token/.test(request) ? sleep(limitMs / 2) : noDelay);
    [fabric.faultMode.delay, other.delay] = [slowly, slowly];
    const mesh = await meshAt([(await fabric.addController(other)).url, fabric.controller.url]);
    const before = fabric.sessions.logins().made;
    expect(await echoed(mesh)).toBe('words');
    await mesh.close();
    expect(fabric.sessions.logins().made).toBe(before + 2);
    await expectNothingLeft();
  });

  it('that completes after the mesh was closed is logged out', async () => {
    const [received, answer] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    fabric.faultMode.delay = async (request) => {
      if (!/authenticate|token/.test(request)) return;
      received.resolve(undefined);
      await answer.promise;
    };
    const mesh = await meshAt([fabric.controller.url]);
    const before = fabric.sessions.logins().made;
    const outcome = dialled(mesh);
    await received.promise;
    const closed = mesh.close();
    answer.resolve(undefined);
    await closed;
    expect(await outcome).toBe('unreachable');
    expect(fabric.sessions.logins().made).toBe(before + 1);
    await expectNothingLeft();
  });
});

it('a login that demands a second factor is logged out too', async () => {
  fabric.faultMode.demandsSecondFactor = true;
  const mesh = await meshAt([fabric.controller.url]);
  await expect(echoed(mesh)).rejects.toMatchObject({ kind: 'unsupported' });
  await expectClosed(mesh);
});
