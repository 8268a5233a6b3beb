import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { tempDir } from '../../../../fixtures/tempDir.ts';
import { createContainers } from './containers.ts';

const timeoutsMs = { call: 1000, removal: 1500 };

let dir: string;
let engine: Server;
let answer: (response: ServerResponse) => void;
beforeEach(async () => {
  dir = tempDir();
  engine = createServer((_request, response) =>
    answer(response.writeHead(200, { 'Content-Type': 'application/json' })),
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
    { text: 'the engine takes too long to tell this log', truncated: false },
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
