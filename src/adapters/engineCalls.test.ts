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

/** By hand, by dockerode at once and after a while, and by its stream. */
const calls: Record<string, (containers: Containers) => Promise<unknown>> = {
  'a list': (containers) => containers.glance(),
  'the state of the engine': (containers) => containers.info(),
  'a removal': (containers) => containers.removeImage('web:1'),
  'its events': (containers) => containers.lastExit('web', 0),
};

const late = { code: 'RUNTIME_UNAVAILABLE', message: expect.stringContaining('does not answer (in time)') as string };

describe.each(Object.keys(calls))('%s', (what) => {
  const ask = calls[what]!;

  it.failing(
    'is waited for no longer than its limit on the whole, however it drips',
    async () => {
      answer = drip;
      await expect(ask(containersOf())).rejects.toMatchObject(late);
    },
    3000,
  );
});
