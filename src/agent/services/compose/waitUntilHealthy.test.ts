import { noEvents, runningContainer } from '../../../../fixtures/engine/stubContainer.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InspectedContainer } from '../../rules/health/health.ts';
import { waitUntilHealthy } from './waitUntilHealthy.ts';
import { currentContainers } from './observe.ts';
import { startRelease } from './startRelease.ts';
import type { Dependencies } from '../dependencies.ts';
import { composeUpNow } from '../tickScope.ts';

const never = new AbortController().signal;
const sha = 'a'.repeat(64);
const noResources = { containers: [], volumes: [], networks: [], isPodman: false };
const noPrivileges = { schema: 1, services: {}, networks: {}, volumes: {} };
const healthLog = [{ text: 'secret', truncated: false }];
const web: InspectedContainer = { ...runningContainer, id: '1', name: 'web-1', health: 'healthy', healthLog };

const asIs = (text: string) => text;

/** Dependencies of a release start, and the number of container queries. */
function depsWith(settings: object, ...containers: InspectedContainer[]) {
  const count = { queries: 0 };
  const list = async () => [containers[count.queries++] ?? containers.at(-1)!];
  const record = { services: [{ name: 'web', replicas: 1 }], compose: [] };
  const deps = {
    settings: { health_timeout_s: 5, ...settings },
    releases: {
      readRecord: async () => record,
      writeRecord: async () => undefined,
      pathOf: () => '/nowhere',
      readGrantedPrivileges: async () => noPrivileges,
    },
    state: { state: { applied_sha: null } },
    compose: { create: async () => undefined, up: async () => undefined },
    containers: {
      list,
      isReachable: async () => true,
      subscribeToEvents: async () => noEvents,
      inspectProject: async () => noResources,
      networks: async () => [],
      logs: async (id: string) => [{ text: `log of ${id}\n`, truncated: false }],
    },
    vault: { redactor: () => ({ redact: asIs, redactTruncated: asIs }) },
    recordDecision: () => undefined,
    tick: { healthyContainers: null, lastComposeUp: composeUpNow([]) },
  };
  return { deps: deps as unknown as Dependencies, count };
}

describe('containers that were found healthy', () => {
  it('are not queried again until the next compose up', async () => {
    const { deps, count } = depsWith({ settle_s: 0 }, web);
    await waitUntilHealthy(deps, { sha }, never);
    expect(await currentContainers(deps)).toEqual([{ ...web, healthLog: [] }]);
    expect(count.queries).toBe(1);
    await startRelease(deps, { sha }, never);
    const before = count.queries;
    expect(await currentContainers(deps)).toEqual([web]);
    expect(count.queries).toBe(before + 1);
  });
});

describe('the wait for health', () => {
  it('closes the event stream when the containers cannot be listed', async () => {
    const { deps } = depsWith({ settle_s: 0 }, web);
    let closed = 0;
    Object.assign(deps.containers, {
      subscribeToEvents: async () => ({ ...noEvents, close: () => (closed += 1) }),
      list: () => Promise.reject(new Error('no answer')),
    });
    await expect(waitUntilHealthy(deps, { sha }, never)).rejects.toThrow('no answer');
    expect(closed).toBe(1);
  });

  const plain = { ...web, health: null };
  const day = 86_400_000;

  it('ends when the last container has settled, not at the next poll', async () => {
    const { deps } = depsWith({ settle_s: 0.02 }, plain);
    const nextPoll = sleep(95, 'next poll');
    expect(await Promise.race([waitUntilHealthy(deps, { sha }, never).then(() => 'settled'), nextPoll])).toBe(
      'settled',
    );
  });

  it('ends immediately when the last container was started long enough ago', async () => {
    const { deps, count } = depsWith({ settle_s: 10 }, { ...plain, startedMs: Date.now() - 11_000 });
    deps.tick.lastComposeUp.atMs -= 12_000;
    await waitUntilHealthy(deps, { sha }, never);
    expect(count.queries).toBe(1);
  });

  it.each([
    ['was started before compose up', { startedMs: Date.now() - day }],
    ['has no start time', { startedMs: NaN }],
  ])('counts from the start of compose for a container that %s', async (_which, times) => {
    const { deps, count } = depsWith({ settle_s: 0.02 }, { ...plain, ...times });
    await waitUntilHealthy(deps, { sha }, never);
    expect(count.queries).toBeGreaterThanOrEqual(2);
  });

  it('lets an older container settle together with a new one', async () => {
    const both = async () => [
      { ...plain, startedMs: Date.now() - day },
      { ...web, id: '2', name: 'web-2', startedMs: started },
    ];
    const { deps } = depsWith({ settle_s: 0.05 }, plain);
    const started = Date.now();
    Object.assign(deps.containers, { list: both });
    await waitUntilHealthy(deps, { sha }, never);
    expect(Date.now() - started).toBeGreaterThanOrEqual(50);
  });

  it('uses its own clock when the engine reports a start in the future', async () => {
    const { deps, count } = depsWith({ settle_s: 0.02 }, { ...plain, startedMs: Date.now() + day });
    await waitUntilHealthy(deps, { sha }, never);
    expect(count.queries).toBeGreaterThanOrEqual(2);
  });

  it('restarts the settle time with each start', async () => {
    const starts = [1, 2, 3].map((days) => ({ ...plain, startedMs: Date.now() + days * day }));
    const { deps, count } = depsWith({ settle_s: 0.02 }, ...starts);
    await waitUntilHealthy(deps, { sha }, never);
    expect(count.queries).toBeGreaterThanOrEqual(4);
  });

  it('does not count time in which a container does not run', async () => {
    const old = { ...plain, startedMs: Date.now() - day };
    const { deps, count } = depsWith({ settle_s: 0.02 }, { ...old, state: 'restarting' }, old);
    await waitUntilHealthy(deps, { sha }, never);
    expect(count.queries).toBeGreaterThanOrEqual(2);
  });
});

describe('a clock change during the wait', () => {
  const hour = 3_600_000;
  const plain = { ...web, health: null };
  const { now } = Date;
  afterEach(() => void (Date.now = now));

  /** Result of a wait during which the clock is changed after the first query. */
  async function runWait(byMs: number, settings: object, state = 'running') {
    const { deps, count } = depsWith(settings, { ...plain, startedMs: now(), state });
    const { list } = deps.containers;
    const stepping = async () => {
      const listed = await list();
      Date.now = () => now() + byMs;
      return listed;
    };
    Object.assign(deps.containers, { list: stepping });
    const began = process.uptime();
    const ending = await waitUntilHealthy(deps, { sha }, never).then(
      () => 'healthy',
      (error: unknown) => (error as Error).message,
    );
    return { ending, waitedS: process.uptime() - began, queries: count.queries };
  }

  it.each([-hour, hour])('does not change the settle time: %d ms', async (byMs) => {
    const { ending, waitedS } = await runWait(byMs, { settle_s: 0.2 });
    expect(ending).toBe('healthy');
    expect(waitedS).toBeGreaterThanOrEqual(0.2);
  });

  it.each([-hour, hour])('does not change the timeout: %d ms', async (byMs) => {
    const { ending, waitedS } = await runWait(byMs, { settle_s: 0, health_timeout_s: 0.3 }, 'restarting');
    expect(ending).toMatch(/^failed: containers not healthy after 0s: web=restarting/);
    expect(waitedS).toBeGreaterThanOrEqual(0.3);
  });
});

describe('a wait that failed', () => {
  it('blames an engine that does not answer any more', async () => {
    const { deps } = depsWith({ health_timeout_s: 0, settle_s: 0 }, { ...web, health: 'starting' });
    Object.assign(deps.containers, { isReachable: async () => false });
    await expect(waitUntilHealthy(deps, { sha }, never)).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  });

  const young = { startedMs: Date.now(), healthLog: [], restarts: 0, restartPolicy: 'always' };
  const plain = { ...web, health: null, exitCode: 0, ...young };
  const death = (restarts: number) => ({ ...plain, state: 'restarting', exitCode: 1, restarts });
  const short = { health_timeout_s: 0.3, settle_s: 5 };

  /** Line and tail of the fault. */
  async function failWait(...containers: InspectedContainer[]) {
    const { deps } = depsWith(short, ...containers);
    const { message, tail } = await waitUntilHealthy(deps, { sha }, never).then(
      () => Promise.reject(new Error('the wait did not fail')),
      (error: unknown) => error as { message: string; tail: string },
    );
    return { line: message.replace(/after \d+s/, 'after Ns'), tail };
  }

  it('names a container that runs between two crashes, with its restarts and last exit code', async () => {
    const again = (restarts: number) => ({ ...plain, restarts, startedMs: Date.now() + restarts });
    const { line, tail } = await failWait(plain, death(2), again(2));
    expect(line).toBe('failed: containers not healthy after Ns: web=running (not settled, 2 restarts, last exit 1)');
    expect(tail).toBe('--- web-1\nlog of 1');
  });

  it('names a container that is about to be restarted', async () => {
    const { line } = await failWait(plain, death(1));
    expect(line).toBe('failed: containers not healthy after Ns: web=restarting (1 restart, last exit 1)');
  });

  it('names a container that had no time to settle', async () => {
    const { line } = await failWait({ ...plain, startedMs: Date.now() });
    expect(line).toBe('failed: containers not healthy after Ns: web=running (not settled)');
  });

  it('does not blame a container that only waited for another to settle', async () => {
    const { deps } = depsWith(short, plain);
    const old = { ...plain, id: '2', service: 'db', name: 'db-1', startedMs: Date.now() - 60_000 };
    Object.assign(deps.containers, { list: async () => [old, { ...plain, startedMs: Date.now() }] });
    await expect(waitUntilHealthy(deps, { sha }, never)).rejects.toThrow(/after \d+s: web=running \(not settled\)$/);
  });

  it('has the last log lines of each unhealthy container, however much another wrote', async () => {
    const { deps } = depsWith(short, plain);
    const unhealthy = { ...plain, health: 'unhealthy' };
    const both = [unhealthy, { ...unhealthy, id: '2', service: 'db', name: 'db-1' }];
    const logs = async () => [{ text: `${'x'.repeat(16_000)}\n`, truncated: false }];
    Object.assign(deps.containers, { list: async () => both, logs });
    await expect(waitUntilHealthy(deps, { sha }, never)).rejects.toMatchObject({
      tail: expect.stringMatching(/^--- db-1\nx{3000,}\n--- web-1\nx{3000,}/) as string,
    });
  });
});
