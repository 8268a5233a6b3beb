import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { createContainers } from './containers.ts';

const timeoutsMs = { call: 1000, removal: 1500 };

let dir: string;
let engine: Server;
let answer: (response: ServerResponse) => void;
let status: number;
beforeEach(async () => {
  dir = tempDir();
  status = 200;
  engine = createServer((_request, response) =>
    answer(response.writeHead(status, { 'Content-Type': 'application/json' })),
  );
  engine.listen(join(dir, 'engine.sock'));
  await once(engine, 'listening');
});
afterEach(async () => {
  engine.closeAllConnections();
  engine.close();
});

const containersOf = (signal = new AbortController().signal) =>
  createContainers({ containerHost: `unix://${dir}/engine.sock`, project: 'deployd-eu-1', signal, timeoutsMs });
type Containers = ReturnType<typeof containersOf>;

/** Sends a byte every 50 ms, so the idle timeout is never reached. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 50);
  response.once('close', () => clearInterval(timer));
}

/** Sends without end. */
function flood(response: ServerResponse): void {
  const page = Buffer.alloc(1_048_576, ' ');
  const more = () => {
    while (!response.destroyed && response.write(page));
  };
  response.on('drain', more);
  more();
}

/** By plain HTTP, by dockerode, and by dockerode with the removal timeout. */
const calls: Record<string, (containers: Containers) => Promise<unknown>> = {
  'a list': (containers) => containers.listStatuses(),
  'the state of the engine': (containers) => containers.info(),
  'a removal': (containers) => containers.removeImage('web:1'),
};

const late = { code: 'RUNTIME_UNAVAILABLE', message: expect.stringContaining('does not answer (in time)') as string };

describe.each(Object.keys(calls))('%s', (what) => {
  const call = calls[what]!;

  it('fails after its total timeout although bytes keep arriving', async () => {
    answer = drip;
    await expect(call(containersOf())).rejects.toMatchObject(late);
  }, 10_000);

  it.each([
    [500, { message: 'driver "overlay2" failed to remove root filesystem: device or resource busy' }],
    [400, { message: 'network eu-1_default is ambiguous (2 matches found on name)' }],
    [403, { message: 'endpoint with name web already exists in network eu-1_default' }],
    [507, { cause: 'no space left on device', message: 'write /x: no space left on device' }],
  ])('fails with the message of an engine that refuses it (%d)', async (refused, body) => {
    status = refused;
    answer = (response) => response.end(JSON.stringify(body));
    await expect(call(containersOf())).rejects.toMatchObject({
      ...{ ending: 'failed', code: refused === 507 ? 'DISK_INSUFFICIENT' : 'ENGINE_ERROR' },
      message: expect.stringContaining(`the container engine answers ${refused}: ${body.message}`) as string,
    });
  });

  it('fails with the message of an engine that does not answer with JSON', async () => {
    status = 500;
    answer = (response) => response.end('404 page\nnot \u001b[31mfound\n');
    await expect(call(containersOf())).rejects.toMatchObject({
      message: expect.stringMatching(/^ENGINE_ERROR: the container engine answers 500: /) as string,
    });
  });

  it.each([
    [503, 'the daemon is shutting down'],
    [500, 'connection error: dial unix:///run/containerd/containerd.sock: connect: connection refused'],
    [500, 'grpc: the client connection is closing: unknown'],
    [500, 'ttrpc: closed: unknown'],
  ])('fails as without an engine if the engine starts or stops (%d %s)', async (refused, message) => {
    status = refused;
    answer = (response) => response.end(JSON.stringify({ message }));
    await expect(call(containersOf())).rejects.toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
      message: expect.stringContaining(message) as string,
    });
  });

  it('stops reading a response that never ends', async () => {
    let sent = 0;
    engine.once('connection', (socket) => socket.once('close', () => (sent = socket.bytesWritten)));
    answer = flood;
    await expect(call(containersOf())).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    expect(sent).toBeLessThan(40 * 1_048_576);
  }, 10_000);

  it('fails with `stopped` on abort', async () => {
    const stop = new AbortController();
    answer = (response) => {
      drip(response);
      stop.abort();
    };
    await expect(call(containersOf(stop.signal))).rejects.toMatchObject({ ending: 'stopped' });
  });
});

it('a log that does not end in time is not shown', async () => {
  answer = (response) => (response.req.url === '/version?' ? void response.end('{}') : flood(response));
  expect(await containersOf().logs('web')).toEqual([
    { text: 'the engine takes too long to return this log', truncated: false },
  ]);
});

it('a truncated response fails with RUNTIME_UNAVAILABLE', async () => {
  answer = (response) => response.write('{', () => response.destroy());
  for (const call of Object.values(calls))
    await expect(call(containersOf())).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
}, 10_000);

describe('a subscription to events', () => {
  it('lasts longer than the timeout of a call', async () => {
    answer = drip;
    const events = await containersOf().subscribeToEvents(0);
    await events.waitForNext(timeoutsMs.removal, new AbortController().signal);
    expect(events.isLive()).toBe(true);
    events.close();
  });

  it('fails when the stream does not begin', async () => {
    answer = () => undefined;
    await expect(containersOf().subscribeToEvents(0)).rejects.toMatchObject(late);
  });
});
