import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContainers } from './containers.ts';

const limitsMs = { call: 1000, removal: 1500 };

let dir: string;
let engine: Server;
let answer: (response: ServerResponse) => void;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-engine-'));
  engine = createServer((_request, response) =>
    answer(response.writeHead(200, { 'Content-Type': 'application/json' })),
  );
  engine.listen(join(dir, 'engine.sock'));
  await once(engine, 'listening');
});
afterEach(async () => {
  engine.closeAllConnections();
  engine.close();
  await rm(dir, { recursive: true });
});

const containersOf = (signal = new AbortController().signal) =>
  createContainers({ containerHost: `unix://${dir}/engine.sock`, project: 'deployd-eu-1', signal, limitsMs });
type Containers = ReturnType<typeof containersOf>;

/** A byte now and then, which no limit on silence is reached by. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 50);
  response.once('close', () => clearInterval(timer));
}

/** More than anything that an engine has to tell. */
function flood(response: ServerResponse): void {
  const page = Buffer.alloc(1_048_576, ' ');
  const more = () => {
    while (!response.destroyed && response.write(page));
  };
  response.on('drain', more);
  more();
}

/** By hand, by dockerode, and by it for what takes long. */
const calls: Record<string, (containers: Containers) => Promise<unknown>> = {
  'a list': (containers) => containers.glance(),
  'the state of the engine': (containers) => containers.info(),
  'a removal': (containers) => containers.removeImage('web:1'),
};

const late = { code: 'RUNTIME_UNAVAILABLE', message: expect.stringContaining('does not answer (in time)') as string };

describe.each(Object.keys(calls))('%s', (what) => {
  const ask = calls[what]!;

  it('is waited for no longer than its limit on the whole, however it drips', async () => {
    answer = drip;
    await expect(ask(containersOf())).rejects.toMatchObject(late);
  }, 10_000);

  it('is not read on where it never ends', async () => {
    let sent = 0;
    engine.once('connection', (socket) => socket.once('close', () => (sent = socket.bytesWritten)));
    answer = flood;
    await expect(ask(containersOf())).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    expect(sent).toBeLessThan(40 * 1_048_576);
  }, 10_000);

  it('ends with the tick', async () => {
    const stop = new AbortController();
    answer = (response) => {
      drip(response);
      stop.abort();
    };
    await expect(ask(containersOf(stop.signal))).rejects.toMatchObject({ ending: 'stopped' });
  });
});

it('an answer that breaks off is that of an engine that does not answer', async () => {
  answer = (response) => response.write('{', () => response.destroy());
  for (const ask of Object.values(calls))
    await expect(ask(containersOf())).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
}, 10_000);

describe('the events of containers', () => {
  it('go on beyond the limit of a call', async () => {
    answer = drip;
    const events = await containersOf().events(0);
    await events.next(limitsMs.removal, new AbortController().signal);
    expect(events.isLive()).toBe(true);
    events.close();
  });

  it('are given up where they do not begin', async () => {
    answer = () => undefined;
    await expect(containersOf().events(0)).rejects.toMatchObject(late);
  });
});
