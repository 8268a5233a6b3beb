import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { noFaults } from '../../fixtures/world/mesh/faultMode.ts';
import { faultyRouters, startFaultyServer } from '../../fixtures/world/mesh/faultyServer.ts';
import { createCa } from '../../fixtures/world/servers/crypto/ca.ts';
import fc from 'fast-check';
import { type Fabric, openFabric } from '../../fixtures/world/mesh/fabric.ts';
import { keys, le32, packFrame, types } from '../../fixtures/world/mesh/frames.ts';
import { seed } from '../../fixtures/world/sampling/seed.ts';
import { createMesh, type Mesh, type MeshError, type MeshStore } from './mesh.ts';

let echo: Server;
let fabric: Fabric;
let mesh: Mesh;
const neverAborted = new AbortController().signal;
const target = { host: 'plain', port: 80, service: 'plain', isCleartext: false };
const conn = { [keys.conn]: le32(1) };

beforeAll(async () => {
  echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
  await once(echo.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => void echo.close());
beforeEach(async () => {
  const { port } = echo.address() as AddressInfo;
  fabric = await openFabric({ plain: { port, encrypted: false }, sealed: { port, encrypted: true } });
  mesh = createMesh({ identityFile: fabric.identityFile, timeoutMs: 30_000 });
});
afterEach(async () => {
  fabric.faultMode.delay = async () => undefined;
  await mesh.close();
  await fabric.stop();
});

const channels = () => fabric.routers.flatMap((router) => [...router.channels]);

/** `asked` resolves when the controller receives the request; it responds when `answer` is called. */
function delayedAnswer(word: string) {
  const [asked, answer] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  fabric.faultMode.delay = async (request) => {
    if (!request.endsWith(word)) return;
    asked.resolve(undefined);
    await answer.promise;
  };
  return { asked: asked.promise, answer: () => answer.resolve(undefined) };
}

describe('a dial that is aborted', () => {
  it.each(['version', 'services', 'sessions'])('while the controller delays %s ends at once', async (word) => {
    const { asked, answer } = delayedAnswer(word);
    fabric.faultMode.hello = 'silent';
    const stop = new AbortController();
    const dialled = mesh.dial(target, stop.signal).catch((error: unknown) => error);
    await asked;
    stop.abort();
    expect(await dialled).toMatchObject({ name: 'MeshError', kind: 'unreachable' });
    answer();
  });

  it('because the mesh is closed ends at once, together with its login', async () => {
    const { asked } = delayedAnswer('version');
    const dialled = mesh.dial(target, neverAborted).catch((error: unknown) => error);
    await asked;
    await mesh.close();
    expect(await dialled).toMatchObject({ name: 'MeshError', kind: 'unreachable' });
  });
});

describe.each(['refuses connections', 'says nothing', 'is silent after TLS'])(
  'of many routers each one before the last %s, and the last',
  (name) => {
    it.each([33, 65, 200])('of %d is dialled, and is among the first ones of the next dial', async (count) => {
      const server = await startFaultyServer(faultyRouters[name]!, fabric.certificate);
      const { port, counts, sockets } = server;
      const addresses = Array<string>(count - 1).fill(`tls://127.0.0.1:${port}`);
      fabric.faultMode.routers = () => [...addresses, fabric.routers[0]!.address];
      const dialled = async () => text((await mesh.dial(target, neverAborted)).end('words'));
      mesh = createMesh({ identityFile: fabric.identityFile, timeoutMs: 6000 });
      expect(await dialled()).toBe('words');
      expect(counts.peak).toBeLessThanOrEqual(64);
      const { made } = counts;
      await mesh.close();
      expect(await dialled()).toBe('words');
      expect(counts.made - made).toBeLessThanOrEqual(64);
      await mesh.close();
      while (sockets.size > 0) await new Promise(setImmediate);
      await server.stop();
    });
  },
);

interface IdentityJson {
  ztAPI: string;
  ztAPIs?: string[];
  id: { ca: string };
}

describe('the memory of a mesh', () => {
  const other = createCa('new authority');
  const memory = () => {
    let kept: string | null = null;
    return { load: () => kept, save: async (json: string) => void (kept = json), text: () => kept };
  };
  const listed = (url: string) => [{ apiAddresses: { 'edge-client': [{ url: `${url}/edge/client/v1` }] } }];
  const dialWith = async (identityFile: string, store: MeshStore) => {
    const dialling = createMesh({ identityFile, timeoutMs: 4000, store });
    const dialled = dialling.dial(target, neverAborted).then((connection) => text(connection.end('words')));
    const result = await dialled.catch((error: unknown) => (error as MeshError).kind);
    await learned();
    await dialling.close();
    return result;
  };
  const edit = async (file: string, change: (identity: IdentityJson) => unknown) => {
    const identity = JSON.parse(await readFile(file, 'utf8')) as IdentityJson;
    change(identity);
    await writeFile(file, JSON.stringify(identity));
  };
  /** Resolves when the memory contains what the test waits for. */
  let learned = () => Promise.resolve();

  it.each<[string, boolean]>([
    ['the same authority', false],
    ['a new authority', true],
  ])('leads to another controller with %s once the first controller is gone', async (_name, isNew) => {
    const { services } = fabric.faultMode;
    const second = await fabric.addController(noFaults(services), isNew ? other.issue(['127.0.0.1']) : undefined);
    const first = await fabric.addController({ ...noFaults(services), data: { controllers: listed(second.url) } });
    fabric.authorities.push(other.pem);
    const [identityFile, store] = [await fabric.identityAt([first.url]), memory()];
    const before = await readFile(identityFile, 'utf8');
    learned = async () => {
      while (store.text()?.includes(second.url) !== true) await new Promise(setImmediate);
      while (isNew && store.text()?.includes('CERTIFICATE') !== true) await new Promise(setImmediate);
    };
    expect(await dialWith(identityFile, store)).toBe('words');
    expect(await readFile(identityFile, 'utf8')).toBe(before);
    learned = () => Promise.resolve();
    await first.stop();
    expect(await dialWith(identityFile, memory())).toBe('unreachable');
    expect(await dialWith(identityFile, store)).toBe('words');
    await edit(identityFile, (identity) => (identity.ztAPIs = [identity.ztAPI, 'https://127.0.0.1:1']));
    expect(await dialWith(identityFile, store)).toBe('unreachable');
  });

  it('trusts no authority that was removed from the identity', async () => {
    const controller = await fabric.addController(noFaults(fabric.faultMode.services), other.issue(['127.0.0.1']));
    fabric.authorities.push(other.pem);
    const [identityFile, store] = [await fabric.identityAt([controller.url]), memory()];
    const [own] = fabric.authorities;
    await edit(identityFile, ({ id }) => (id.ca = `${own}${other.pem}`));
    learned = async () => {
      while (store.text()?.includes('CERTIFICATE') !== true) await new Promise(setImmediate);
    };
    expect(await dialWith(identityFile, store)).toBe('words');
    learned = () => Promise.resolve();
    await edit(identityFile, ({ id }) => (id.ca = own!));
    expect(await dialWith(identityFile, store)).toBe('untrusted');
  });

  it.each(['', '{', '[]', '{"identity":7,"controllers":[7]}'])('is ignored if it is %j', async (content) => {
    expect(await dialWith(fabric.identityFile, { load: () => content, save: async () => undefined })).toBe('words');
  });
});

describe('a mesh that is closed', () => {
  it('leaves no timer that keeps its process alive', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const connection = await mesh.dial(target, neverAborted);
    await text(connection.end('words'));
    await mesh.close();
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it('closes its connections', async () => {
    const connection = await mesh.dial(target, neverAborted);
    const [channel] = channels();
    const closed = [once(connection, 'close').catch(() => undefined), once(channel!, 'close')];
    await mesh.close();
    await Promise.all(closed);
  });

  it('does not wait for a controller that does not respond to the log-out', async () => {
    await mesh.dial(target, neverAborted);
    delayedAnswer('current-api-session');
    await mesh.close();
    expect(fabric.controller.requests.at(-1)).toMatch(/^DELETE/);
  });
});

describe('a router that closes after its answer', () => {
  it('leaves data readable that the host sent before it closed', async () => {
    const bytes = Buffer.concat([packFrame(types.data, conn, Buffer.from('all of it')), packFrame(types.closed, conn)]);
    fabric.faultMode.noise = { after: 'dial', bytes };
    const connection = await mesh.dial(target, neverAborted);
    while (channels().length > 0) await new Promise(setImmediate);
    expect(await text(connection)).toBe('all of it');
  });

  it.each(['plain', 'sealed'])(
    'after invalid bytes fails the dial to a %s service, and nothing else',
    async (service) => {
      fabric.faultMode.noise = { after: 'dial', bytes: Buffer.alloc(64) };
      await expect(mesh.dial({ ...target, host: service, service }, neverAborted)).rejects.toMatchObject({
        kind: 'protocol',
      });
    },
  );

  it('after data that follows the end is ignored', async () => {
    const fin = packFrame(types.data, { ...conn, [keys.flags]: le32(1) });
    const bytes = Buffer.concat([
      packFrame(types.data, conn, Buffer.from('a')),
      fin,
      packFrame(types.data, conn, fin),
      fin,
    ]);
    fabric.faultMode.noise = { after: 'dial', bytes: Buffer.concat([bytes, packFrame(types.closed, conn)]) };
    expect(await text(await mesh.dial(target, neverAborted))).toBe('a');
  });
});

it('a rejection that repeats the session token is reported without it', async () => {
  fabric.faultMode.dial = { words: `no TOKEN, nor eyJhbGciOi.eyJzdWIi.c2ln` };
  await expect(mesh.dial(target, neverAborted)).rejects.toMatchObject({ message: 'service plain: no ***, nor ***' });
});

const anywhere = { protocols: ['tcp'], portRanges: [{ low: 1, high: 99 }] };
const [manyNumbers, badPort] = [
  Array.from({ length: 200_000 }, () => 7),
  { supportedProtocols: { tls: 'tls://h:99999' } },
];

describe.each(['version', 'authenticate', 'services', 'sessions'])('a controller whose %s is', (word) => {
  it.each([
    ['null', null],
    ['a number', 7],
    ['a text', 'text'],
    ['a list of mixed values', [null, 7, { permissions: ['Dial'], name: 7, config: { 'intercept.v1': 7 } }]],
    ['of other types', { token: 'a\nb', capabilities: 'OIDC_AUTH', edgeRouters: [null, badPort] }],
    ['huge', [{ permissions: ['Dial'], config: { 'intercept.v1': { ...anywhere, addresses: manyNumbers } } }]],
  ])('%s leads to a MeshError or a connection', async (_name, data) => {
    fabric.faultMode.data = { [word]: data };
    const outcome = await mesh.dial(target, neverAborted).catch((error: unknown) => error);
    expect((outcome as object).constructor.name).toMatch(/^Mesh(Error|Connection)$/);
  });
});

const frame = fc
  .tuple(
    fc.constantFrom(...Object.values(types), 60_798, 5),
    fc.dictionary(fc.constantFrom(...Object.values(keys).map(String)), fc.uint8Array({ maxLength: 8 })),
    fc.uint8Array({ maxLength: 60 }),
  )
  .map(([type, headers, body]) => {
    const values = Object.entries(headers).map(([key, value]) => [key, Buffer.from(value)]);
    return packFrame(type, { ...conn, ...(Object.fromEntries(values) as Record<number, Buffer>) }, Buffer.from(body));
  });
const noise = fc.oneof(
  fc.array(frame, { maxLength: 6 }).map((frames) => Buffer.concat(frames)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

it(`a router that sends random bytes leads to a MeshError or the end of the connection (SEED=${seed})`, async () => {
  const [after, service] = [fc.constantFrom('hello' as const, 'dial' as const), fc.constantFrom('plain', 'sealed')];
  const property = fc.asyncProperty(after, service, noise, async (when, name, bytes) => {
    fabric.faultMode.noise = { after: when, bytes };
    const connection = await mesh
      .dial({ ...target, host: name, service: name }, neverAborted)
      .catch((error: unknown) => {
        expect(error).toMatchObject({ name: 'MeshError' });
      });
    connection?.end('words');
    await (connection && text(connection).catch((error: unknown) => expect(error).toHaveProperty('code')));
  });
  await fc.assert(property, { seed, numRuns: 60, endOnFailure: true });
}, 60_000);
