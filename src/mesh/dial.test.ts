import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { openFabric, type Fabric } from '../../fixtures/mesh/fabric.ts';
import { keys, le32, pack, types } from '../../fixtures/mesh/frames.ts';
import { seed } from '../../fixtures/seed.ts';
import { createMesh, type Mesh } from './mesh.ts';

let echo: Server;
let fabric: Fabric;
let mesh: Mesh;
const whenever = new AbortController().signal;
const target = { host: 'plain', port: 80, service: 'plain' };
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
  fabric.mood.ponder = async () => undefined;
  await mesh.close();
  await fabric.stop();
});

const channels = () => fabric.routers.flatMap((router) => [...router.channels]);

/** Settles when the controller is asked; it answers when `answer` is called. */
function pondering(word: string) {
  const [asked, answer] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  fabric.mood.ponder = async (request) => {
    if (!request.endsWith(word)) return;
    asked.resolve(undefined);
    await answer.promise;
  };
  return { asked: asked.promise, answer: () => answer.resolve(undefined) };
}

describe('a dial that is given up', () => {
  it.each(['version', 'services', 'sessions'])('while the controller thinks about %s ends at once', async (word) => {
    const { asked, answer } = pondering(word);
    fabric.mood.hello = 'silent';
    const stop = new AbortController();
    const dialled = mesh.dial(target, stop.signal).catch((error: unknown) => error);
    await asked;
    stop.abort();
    expect(await dialled).toMatchObject({ name: 'MeshTrouble', kind: 'unreachable' });
    answer();
  });

  it('because the mesh is closed ends at once, with its login', async () => {
    const { asked } = pondering('version');
    const dialled = mesh.dial(target, whenever).catch((error: unknown) => error);
    await asked;
    await mesh.close();
    expect(await dialled).toMatchObject({ name: 'MeshTrouble', kind: 'unreachable' });
  });
});

describe('a mesh that is closed', () => {
  it('closes its connections', async () => {
    const connection = await mesh.dial(target, whenever);
    const [channel] = channels();
    const closed = [once(connection, 'close').catch(() => undefined), once(channel!, 'close')];
    await mesh.close();
    await Promise.all(closed);
  });

  it('does not wait for a controller that does not answer the log-out', async () => {
    await mesh.dial(target, whenever);
    pondering('current-api-session');
    await mesh.close();
    expect(fabric.controller.requests.at(-1)).toMatch(/^DELETE/);
  });
});

describe('a router that goes away behind its answer', () => {
  it('leaves to be read what the host sent before it closed', async () => {
    const bytes = Buffer.concat([pack(types.data, conn, Buffer.from('all of it')), pack(types.closed, conn)]);
    fabric.mood.noise = { after: 'dial', bytes };
    const connection = await mesh.dial(target, whenever);
    while (channels().length > 0) await new Promise(setImmediate);
    expect(await text(connection)).toBe('all of it');
  });

  it.each(['plain', 'sealed'])('after nonsense fails the dial to a %s service, and nothing else', async (service) => {
    fabric.mood.noise = { after: 'dial', bytes: Buffer.alloc(64) };
    await expect(mesh.dial({ ...target, host: service, service }, whenever)).rejects.toMatchObject({
      kind: 'protocol',
    });
  });

  it('after data behind the end is not heard', async () => {
    const fin = pack(types.data, { ...conn, [keys.flags]: le32(1) });
    const bytes = Buffer.concat([pack(types.data, conn, Buffer.from('a')), fin, pack(types.data, conn, fin), fin]);
    fabric.mood.noise = { after: 'dial', bytes: Buffer.concat([bytes, pack(types.closed, conn)]) };
    expect(await text(await mesh.dial(target, whenever))).toBe('a');
  });
});

it('a refusal that repeats the token of the session is told without it', async () => {
  fabric.mood.dial = { words: `no TOKEN, nor eyJhbGciOi.eyJzdWIi.c2ln` };
  await expect(mesh.dial(target, whenever)).rejects.toMatchObject({ message: 'service plain: no ***, nor ***' });
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
    ['a list of anything', [null, 7, { permissions: ['Dial'], name: 7, config: { 'intercept.v1': 7 } }]],
    ['of other types', { token: 'a\nb', capabilities: 'OIDC_AUTH', edgeRouters: [null, badPort] }],
    ['huge', [{ permissions: ['Dial'], config: { 'intercept.v1': { ...anywhere, addresses: manyNumbers } } }]],
  ])('%s leads to a trouble of the mesh, or to a connection', async (_name, data) => {
    fabric.mood.data = { [word]: data };
    const outcome = await mesh.dial(target, whenever).catch((error: unknown) => error);
    expect((outcome as object).constructor.name).toMatch(/^Mesh(Trouble|Connection)$/);
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
    return pack(type, { ...conn, ...(Object.fromEntries(values) as Record<number, Buffer>) }, Buffer.from(body));
  });
const noise = fc.oneof(
  fc.array(frame, { maxLength: 6 }).map((frames) => Buffer.concat(frames)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

it(`a router that says anything leads to a trouble of the mesh or the end of the connection (SEED=${seed})`, async () => {
  const [after, service] = [fc.constantFrom('hello' as const, 'dial' as const), fc.constantFrom('plain', 'sealed')];
  const property = fc.asyncProperty(after, service, noise, async (when, name, bytes) => {
    fabric.mood.noise = { after: when, bytes };
    const connection = await mesh.dial({ ...target, host: name, service: name }, whenever).catch((error: unknown) => {
      expect(error).toMatchObject({ name: 'MeshTrouble' });
    });
    connection?.end('words');
    await (connection && text(connection).catch((error: unknown) => expect(error).toHaveProperty('code')));
  });
  await fc.assert(property, { seed, numRuns: 60, endOnFailure: true });
}, 60_000);
