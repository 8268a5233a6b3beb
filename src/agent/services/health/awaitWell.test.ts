import { noEvents, running } from '../../../../fixtures/inspected.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { Inspected } from '../../rules/health/health.ts';
import { awaitWell } from './awaitWell.ts';
import { bringUp, containersNow } from '../release/release.ts';
import { broughtUpNow, type Tools } from '../tools.ts';

const never = new AbortController().signal;
const sha = 'a'.repeat(64);
const nothingMade = { containers: [], volumes: [], networks: [], isPodman: false };
const nothingGranted = { schema: 1, services: {}, networks: {}, volumes: {} };
const healthLog = [{ text: 'secret', cut: false }];
const web: Inspected = { ...running, id: '1', name: 'web-1', health: 'healthy', healthLog };

const asIs = (text: string) => text;

/** What a release is brought up with, and how often the engine was asked for its containers. */
function toolsWith(settings: object, ...seen: Inspected[]) {
  const count = { looks: 0 };
  const list = async () => [seen[count.looks++] ?? seen.at(-1)!];
  const record = { services: [{ name: 'web', replicas: 1 }], compose: [] };
  const tools = {
    settings: { health_timeout_s: 5, ...settings },
    releases: { readRecord: async () => record, pathOf: () => '/nowhere', readGranted: async () => nothingGranted },
    compose: { create: async () => undefined, up: async () => undefined },
    containers: {
      list,
      events: async () => noEvents,
      made: async () => nothingMade,
      logs: async (id: string) => [{ text: `log of ${id}\n`, cut: false }],
    },
    vault: { redactor: () => ({ redact: asIs, redactHead: asIs }) },
    note: () => undefined,
    tick: { well: null, broughtUp: broughtUpNow([]) },
  };
  return { tools: tools as unknown as Tools, count };
}

describe('containers that were found well', () => {
  it('are not looked at again until the next compose touches them', async () => {
    const { tools, count } = toolsWith({ settle_s: 0 }, web);
    await awaitWell(tools, sha, never);
    expect(await containersNow(tools)).toEqual([{ ...web, healthLog: [] }]);
    expect(count.looks).toBe(1);
    await bringUp(tools, { sha, pull: 'never' }, never);
    const before = count.looks;
    expect(await containersNow(tools)).toEqual([web]);
    expect(count.looks).toBe(before + 1);
  });
});

describe('the wait for health', () => {
  it('leaves no stream of events open where the containers cannot be listed', async () => {
    const { tools } = toolsWith({ settle_s: 0 }, web);
    let closed = 0;
    Object.assign(tools.containers, {
      events: async () => ({ ...noEvents, close: () => (closed += 1) }),
      list: () => Promise.reject(new Error('no answer')),
    });
    await expect(awaitWell(tools, sha, never)).rejects.toThrow('no answer');
    expect(closed).toBe(1);
  });

  const plain = { ...web, health: null };
  const day = 86_400_000;

  it('is over when the last one has settled, not at the look after that', async () => {
    const { tools } = toolsWith({ settle_s: 0.02 }, plain);
    const nextLook = pause(95, 'the next look');
    expect(await Promise.race([awaitWell(tools, sha, never).then(() => 'settled'), nextLook])).toBe('settled');
  });

  it('has nothing to wait for where the last one was started long enough ago', async () => {
    const { tools, count } = toolsWith({ settle_s: 10 }, { ...plain, startedMs: Date.now() - 11_000 });
    tools.tick.broughtUp.atMs -= 12_000;
    await awaitWell(tools, sha, never);
    expect(count.looks).toBe(1);
  });

  it.each([
    ['was started before compose was', { startedMs: Date.now() - day }],
    ['tells no start', { startedMs: NaN }],
  ])('goes by the begin of compose for one that %s', async (_which, told) => {
    const { tools, count } = toolsWith({ settle_s: 0.02 }, { ...plain, ...told });
    await awaitWell(tools, sha, never);
    expect(count.looks).toBeGreaterThanOrEqual(2);
  });

  it('lets one that ran before settle with the one that was started now', async () => {
    const both = async () => [
      { ...plain, startedMs: Date.now() - day },
      { ...web, id: '2', name: 'web-2', startedMs: started },
    ];
    const { tools } = toolsWith({ settle_s: 0.05 }, plain);
    const started = Date.now();
    Object.assign(tools.containers, { list: both });
    await awaitWell(tools, sha, never);
    expect(Date.now() - started).toBeGreaterThanOrEqual(50);
  });

  it('goes by its own clock where the engine tells a start that is yet to come', async () => {
    const { tools, count } = toolsWith({ settle_s: 0.02 }, { ...plain, startedMs: Date.now() + day });
    await awaitWell(tools, sha, never);
    expect(count.looks).toBeGreaterThanOrEqual(2);
  });

  it('begins anew with each start', async () => {
    const starts = [1, 2, 3].map((days) => ({ ...plain, startedMs: Date.now() + days * day }));
    const { tools, count } = toolsWith({ settle_s: 0.02 }, ...starts);
    await awaitWell(tools, sha, never);
    expect(count.looks).toBeGreaterThanOrEqual(4);
  });

  it('does not count the time before one runs', async () => {
    const old = { ...plain, startedMs: Date.now() - day };
    const { tools, count } = toolsWith({ settle_s: 0.02 }, { ...old, state: 'restarting' }, old);
    await awaitWell(tools, sha, never);
    expect(count.looks).toBeGreaterThanOrEqual(2);
  });
});

describe('a clock that is set while one waits', () => {
  const hour = 3_600_000;
  const plain = { ...web, health: null };
  const { now } = Date;
  afterEach(() => void (Date.now = now));

  /** What the wait comes to where the clock is set after the first look at one that was started then. */
  async function waited(byMs: number, settings: object, state = 'running') {
    const { tools, count } = toolsWith(settings, { ...plain, startedMs: now(), state });
    const { list } = tools.containers;
    const stepping = async () => {
      const seen = await list();
      Date.now = () => now() + byMs;
      return seen;
    };
    Object.assign(tools.containers, { list: stepping });
    const began = process.uptime();
    const ending = await awaitWell(tools, sha, never).then(
      () => 'well',
      (error: unknown) => (error as Error).message,
    );
    return { ending, waitedS: process.uptime() - began, looks: count.looks };
  }

  it.each([-hour, hour])('lets a container settle as long as ever: %d ms', async (byMs) => {
    const { ending, waitedS } = await waited(byMs, { settle_s: 0.2 });
    expect(ending).toBe('well');
    expect(waitedS).toBeGreaterThanOrEqual(0.2);
  });

  it.each([-hour, hour])('fails no sooner and no later: %d ms', async (byMs) => {
    const { ending, waitedS } = await waited(byMs, { settle_s: 0, health_timeout_s: 0.3 }, 'restarting');
    expect(ending).toMatch(/^failed: containers not healthy after 0s: web=restarting/);
    expect(waitedS).toBeGreaterThanOrEqual(0.3);
  });
});

describe('a wait that failed', () => {
  const young = { startedMs: Date.now(), healthLog: [], restarts: 0, restartPolicy: 'always' };
  const plain = { ...web, health: null, exitCode: 0, ...young };
  const death = (restarts: number) => ({ ...plain, state: 'restarting', exitCode: 1, restarts });
  const short = { health_timeout_s: 0.3, settle_s: 5 };

  /** How it ended: its line and its tail. */
  async function failed(...seen: Inspected[]) {
    const { tools } = toolsWith(short, ...seen);
    const { message, tail } = await awaitWell(tools, sha, never).then(
      () => Promise.reject(new Error('the wait did not fail')),
      (error: unknown) => error as { message: string; tail: string },
    );
    return { line: message.replace(/after \d+s/, 'after Ns'), tail };
  }

  it('names what runs between two deaths, how often it was started, and how it ended', async () => {
    const again = (restarts: number) => ({ ...plain, restarts, startedMs: Date.now() + restarts });
    const { line, tail } = await failed(plain, death(2), again(2));
    expect(line).toBe('failed: containers not healthy after Ns: web=running (not settled, 2 restarts, last exit 1)');
    expect(tail).toBe('--- web-1\nlog of 1');
  });

  it('names what is about to be started again', async () => {
    const { line } = await failed(plain, death(1));
    expect(line).toBe('failed: containers not healthy after Ns: web=restarting (1 restart, last exit 1)');
  });

  it('names what had no time to settle', async () => {
    const { line } = await failed({ ...plain, startedMs: Date.now() });
    expect(line).toBe('failed: containers not healthy after Ns: web=running (not settled)');
  });

  it('does not blame what only waited for another to settle', async () => {
    const { tools } = toolsWith(short, plain);
    const old = { ...plain, id: '2', service: 'db', name: 'db-1', startedMs: Date.now() - 60_000 };
    Object.assign(tools.containers, { list: async () => [old, { ...plain, startedMs: Date.now() }] });
    await expect(awaitWell(tools, sha, never)).rejects.toThrow(/after \d+s: web=running \(not settled\)$/);
  });

  it('tells the last lines of each that is sick, however much another wrote', async () => {
    const { tools } = toolsWith(short, plain);
    const sick = { ...plain, health: 'unhealthy' };
    const both = [sick, { ...sick, id: '2', service: 'db', name: 'db-1' }];
    const logs = async () => [{ text: `${'x'.repeat(16_000)}\n`, cut: false }];
    Object.assign(tools.containers, { list: async () => both, logs });
    await expect(awaitWell(tools, sha, never)).rejects.toMatchObject({
      tail: expect.stringMatching(/^--- db-1\nx{3000,}\n--- web-1\nx{3000,}/) as string,
    });
  });
});
