import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { badControllers, badRouters, startBad, type Bad } from '../../fixtures/mesh/bad.ts';
import { openFabric, type Fabric } from '../../fixtures/mesh/fabric.ts';
import { goodMood, type Mood } from '../../fixtures/mesh/mood.ts';
import { startRouter } from '../../fixtures/mesh/router.ts';
import { createMesh, type Mesh } from './mesh.ts';

/** Promised: a dial is through, or given up, within this time. */
const limitMs = 4000;

let echo: Server;
let fabric: Fabric;
let services: Mood['services'];
const bad = { controllers: new Map<string, Bad>(), routers: new Map<string, Bad>() };
const whenever = new AbortController().signal;
const target = { host: 'plain', port: 80, service: 'plain' };

beforeAll(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => undefined).pipe(socket));
  await once(echo.listen(0, '127.0.0.1'), 'listening');
  services = { plain: { port: (echo.address() as AddressInfo).port, encrypted: false } };
  fabric = await openFabric(services);
  const { certificate } = fabric;
  for (const [name, manner] of Object.entries(badControllers))
    bad.controllers.set(name, await startBad(manner, certificate));
  for (const [name, manner] of Object.entries(badRouters)) bad.routers.set(name, await startBad(manner, certificate));
});
afterAll(async () => {
  await Promise.all([...bad.controllers.values(), ...bad.routers.values()].map(({ stop }) => stop()));
  await fabric.stop();
  echo.close();
});
beforeEach(() => void Object.assign(fabric.mood, goodMood(services)));

/** A client that is given these controllers. */
async function meshAt(urls: string[]): Promise<Mesh> {
  return createMesh({ identityFile: await fabric.identityAt(urls), timeoutMs: limitMs });
}

async function echoed(mesh: Mesh): Promise<string> {
  const connection = await mesh.dial(target, whenever);
  return text(connection.end('words'));
}

/** Nothing is left anywhere: every login is logged out, and every connection closed. */
async function expectNothingLeft(): Promise<void> {
  expect(fabric.books.logins()).toMatchObject({ open: 0 });
  const sockets = () => [
    ...[...bad.controllers.values(), ...bad.routers.values(), fabric.controller].flatMap((one) => [...one.sockets]),
    ...fabric.routers.flatMap(({ channels }) => [...channels]),
  ];
  while (sockets().length > 0) await new Promise(setImmediate);
}

/** The good one behind, between and before any two. */
function ordersOf(one: string, other: string, good: string): string[][] {
  return [
    [one, other, good],
    [one, good, other],
    [good, one, other],
  ];
}

const urlOf = ({ port }: Bad) => `https://127.0.0.1:${port}`;
const addressOf = ({ port }: Bad) => `tls://127.0.0.1:${port}`;

describe.each(Object.keys(badControllers))('a controller that %s', (name) => {
  it('leaves time for a good one, whatever a third does, in any order', async () => {
    const first = urlOf(bad.controllers.get(name)!);
    const orders = [...bad.controllers.values()].flatMap((other) =>
      ordersOf(first, urlOf(other), fabric.controller.url),
    );
    const meshes = await Promise.all(orders.map(meshAt));
    expect(await Promise.all(meshes.map(echoed))).toEqual(orders.map(() => 'words'));
    await Promise.all(meshes.map((mesh) => mesh.close()));
    await expectNothingLeft();
  });
});

describe.each(Object.keys(badRouters))('a router that %s', (name) => {
  const rounds = () => {
    const [good] = fabric.routers;
    const first = addressOf(bad.routers.get(name)!);
    return [...bad.routers.values()].flatMap((other) => ordersOf(first, addressOf(other), good!.address));
  };

  it('leaves time for a good one, whatever a third does, in any order', async () => {
    const orders = rounds();
    const waiting = [...orders];
    fabric.mood.routers = () => waiting.shift() ?? [];
    const mesh = await meshAt([fabric.controller.url]);
    const meshes = [mesh, ...(await Promise.all(orders.slice(1).map(() => meshAt([fabric.controller.url]))))];
    expect(await Promise.all(meshes.map(echoed))).toEqual(orders.map(() => 'words'));
    await Promise.all(meshes.map((each) => each.close()));
    await expectNothingLeft();
  });

  it('is replaced by one that was announced since, in the same dial', async () => {
    const waiting = [[addressOf(bad.routers.get(name)!)]];
    fabric.mood.routers = () => waiting.shift() ?? [fabric.routers[1]!.address];
    const mesh = await meshAt([fabric.controller.url]);
    expect(await echoed(mesh)).toBe('words');
    await mesh.close();
    await expectNothingLeft();
  });
});

it('routers that all die in the middle of a transfer are replaced in the same tick', async () => {
  const [dying, next] = [await startRouter(fabric.certificate, fabric), fabric.routers[0]!.address];
  const waiting = [[dying.address]];
  fabric.mood.routers = () => waiting.shift() ?? [next];
  const mesh = await meshAt([fabric.controller.url]);
  const connection = await mesh.dial(target, whenever);
  connection.write('words');
  await once(connection, 'data');
  await Promise.all([once(connection, 'error'), dying.stop()]);
  expect(await echoed(mesh)).toBe('words');
  expect(fabric.books.logins().open).toBe(1);
  await mesh.close();
  await expectNothingLeft();
});

it('a permission that did not do is not used by the next dial', async () => {
  const waiting = [[], []] as string[][];
  const sessionsAsked = () => fabric.controller.requests.filter((asked) => asked.endsWith('sessions')).length;
  fabric.mood.routers = () => waiting.shift() ?? [fabric.routers[0]!.address];
  const mesh = await meshAt([fabric.controller.url]);
  const before = sessionsAsked();
  await expect(echoed(mesh)).rejects.toMatchObject({ kind: 'unreachable' });
  fabric.mood.unknownSessions = 1;
  expect(await echoed(mesh)).toBe('words');
  expect(sessionsAsked()).toBe(before + 4);
  await mesh.close();
  await expectNothingLeft();
});

/** One more controller of the same network, which says nothing when it is asked for this. */
async function mute(word: string): Promise<string> {
  const mood = { ...goodMood(services), ponder: (asked: string) => (asked.endsWith(word) ? never : soon) };
  return (await fabric.addController(mood)).url;
}
const [never, soon] = [new Promise(() => undefined), Promise.resolve()];

describe('a controller that says nothing any more', () => {
  it.each(['version', 'authenticate', 'services', 'sessions'])(
    'when it is asked for %s leaves time for a good one',
    async (word) => {
      const mesh = await meshAt([
        await mute(word),
        await mute(word === 'sessions' ? 'version' : word),
        fabric.controller.url,
      ]);
      expect(await echoed(mesh)).toBe('words');
      await mesh.close();
      await expectNothingLeft();
    },
  );

  it('is not waited for by the next dial', async () => {
    const mesh = await meshAt([await mute('sessions'), fabric.controller.url]);
    expect(await echoed(mesh)).toBe('words');
    const asked = fabric.controller.requests.length;
    expect(await echoed(mesh)).toBe('words');
    expect(fabric.controller.requests.slice(asked)).toEqual([]);
    await mesh.close();
  });
});

it('a slow controller has the whole limit, whoever says nothing beside it', async () => {
  fabric.mood.ponder = (asked) => (asked.endsWith('version') ? sleep(limitMs / 2) : soon);
  const nobody = urlOf(bad.controllers.get('says nothing')!);
  const mesh = await meshAt([fabric.controller.url, nobody, nobody]);
  expect(await echoed(mesh)).toBe('words');
  await mesh.close();
});

describe.each(['certificate', 'oidc'] as const)('every login by %s', (login) => {
  const dialled = (mesh: Mesh) => echoed(mesh).catch((error: unknown) => (error as { kind: string }).kind);
  beforeEach(() => void (fabric.mood.login = login));

  it.each<[string, (mood: Mood) => void, string]>([
    ['that serves', () => undefined, 'words'],
    [
      'that the controller forgot',
      (mood) => (mood.sessionStatus = { status: 401, code: 'UNAUTHORIZED', once: false }),
      'unreachable',
    ],
    [
      'that no permission is given to',
      (mood) => (mood.sessionStatus = { status: 503, code: '', once: false }),
      'unreachable',
    ],
    ['that the routers forgot', (mood) => (mood.unknownSessions = 2), 'words'],
    ['that the routers forget again', (mood) => (mood.unknownSessions = 99), 'unreachable'],
    ['that is told nonsense', (mood) => (mood.data = { sessions: 7 }), 'protocol'],
    ['that may dial nothing', (mood) => (mood.data = { services: [] }), 'notGranted'],
    ['without a router', (mood) => (mood.routers = () => []), 'unreachable'],
  ])('%s is logged out, with no connection left', async (_name, change, outcome) => {
    change(fabric.mood);
    const mesh = await meshAt([fabric.controller.url]);
    const before = fabric.books.logins().made;
    expect(await Promise.all([dialled(mesh), dialled(mesh), dialled(mesh)])).toContain(outcome);
    await mesh.close();
    expect(fabric.books.logins().made).toBeGreaterThan(before);
    await expectNothingLeft();
  });

  it('of two slow controllers that both log in at last is logged out', async () => {
    const other = { ...goodMood(services), login };
    const slowly = async (asked: string) => (/authenticate|token/.test(asked) ? sleep(limitMs / 2) : soon);
    [fabric.mood.ponder, other.ponder] = [slowly, slowly];
    const mesh = await meshAt([(await fabric.addController(other)).url, fabric.controller.url]);
    const before = fabric.books.logins().made;
    expect(await echoed(mesh)).toBe('words');
    await mesh.close();
    expect(fabric.books.logins().made).toBe(before + 2);
    await expectNothingLeft();
  });

  it('that is still being answered when all is closed is logged out', async () => {
    const [asked, answer] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    fabric.mood.ponder = async (request) => {
      if (!/authenticate|token/.test(request)) return;
      asked.resolve(undefined);
      await answer.promise;
    };
    const mesh = await meshAt([fabric.controller.url]);
    const before = fabric.books.logins().made;
    const outcome = dialled(mesh);
    await asked.promise;
    const closed = mesh.close();
    answer.resolve(undefined);
    await closed;
    expect(await outcome).toBe('unreachable');
    expect(fabric.books.logins().made).toBe(before + 1);
    await expectNothingLeft();
  });
});

it('a login that asks for a second factor is logged out too', async () => {
  fabric.mood.demandsSecondFactor = true;
  const mesh = await meshAt([fabric.controller.url]);
  await expect(echoed(mesh)).rejects.toMatchObject({ kind: 'unsupported' });
  await mesh.close();
  await expectNothingLeft();
});
