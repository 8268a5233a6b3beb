import { failedFault, Fault } from '../../../machines/fault.ts';
import type { ComposeDependencies } from './observe.ts';
import { down } from './down.ts';

const failure = (details: object) => new Fault('failed', 'failed: docker compose down failed (rc=1)', details);
const missing = { code: 'DOWN_FAILED', tail: 'web\ncould not find migrate: not found\n' };
const both = [
  { id: '1', name: 'shop-web-1' },
  { id: '2', name: 'shop-db-1' },
];

/**
 * Dependencies whose `compose down` ends with these faults, one after the other; `acts` lists the actions on
 * containers.
 */
function depsWith(faults: Fault[], stop: (id: string) => Promise<void> = async () => undefined, stuck?: string) {
  const acts: string[] = [];
  const record = (act: string) => void acts.push(act);
  const deps = {
    compose: {
      down: async () => {
        record('down');
        const fault = faults.shift();
        if (fault) throw fault;
      },
    },
    containers: {
      isReachable: async () => true,
      listAll: async () => both,
      stopContainer: (id: string) => {
        record(`stop ${id}`);
        return stop(id);
      },
      removeContainer: async (id: string) => {
        record(`remove ${id}`);
        if (id === stuck) throw failedFault('ENGINE_ERROR', 'the container engine answers 500: busy');
      },
      ownedResources: async () => ({ volumes: [], networks: [] }),
    },
    releases: { list: async () => [] },
    settings: { down_timeout_s: 0.05 },
    state: { state: {} },
    tick: { journal: { warn: record, info: record, remarks: [] } },
  };
  return {
    acts,
    run: () => down(deps as unknown as ComposeDependencies, { volumes: false }, new AbortController().signal),
  };
}

const oneByOne =
  'down: docker compose down failed (could not find migrate: not found), so removed one by one: shop-web-1, shop-db-1';
const stops = ['down', 'stop 1', 'stop 2', 'remove 1', 'remove 2', oneByOne, 'down'];

it('does nothing else if compose succeeds', async () => {
  const { acts, run } = depsWith([]);
  await run();
  expect(acts).toEqual(['down']);
});

it('runs compose again after all containers were stopped and removed', async () => {
  const { acts, run } = depsWith([failure(missing)]);
  await run();
  expect(acts).toEqual(stops);
});

it('removes containers whose stop fails or exceeds the time limit of a down', async () => {
  const { acts, run } = depsWith([failure(missing)], (id) =>
    id === '1' ? Promise.reject(new Error('500')) : new Promise(() => undefined),
  );
  await run();
  expect(acts).toEqual(stops);
});

it("removes the other containers if the engine cannot remove one, and fails with the engine's message", async () => {
  const { acts, run } = depsWith([failure(missing)], async () => undefined, '1');
  await expect(run()).rejects.toMatchObject({
    code: 'ENGINE_ERROR',
    message: expect.stringContaining('busy') as string,
  });
  const line = 'down: docker compose down failed (could not find migrate: not found), so removed one by one: shop-db-1';
  expect(acts).toEqual(['down', 'stop 1', 'stop 2', 'remove 1', 'remove 2', line]);
});

it('reports a failure that printed nothing', async () => {
  const { acts, run } = depsWith([failure({ code: 'DOWN_FAILED', tail: '' })]);
  await run();
  expect(acts).toContainEqual(expect.stringContaining('failed (without output), so removed'));
});

it('removes the containers without another stop after a timeout', async () => {
  const { acts, run } = depsWith([failure({ ...missing, isTimeout: true })]);
  await run();
  const line = 'down: not stopped within 0.05s, so removed by force: shop-web-1, shop-db-1';
  expect(acts).toEqual(['down', 'remove 1', 'remove 2', line, 'down']);
});

it('reports a failure that repeats or has another cause', async () => {
  await expect(depsWith([failure(missing), failure(missing)]).run()).rejects.toMatchObject({ code: 'DOWN_FAILED' });
  const { acts, run } = depsWith([failure({ code: 'COMPOSE_UNSUPPORTED' })]);
  await expect(run()).rejects.toMatchObject({ code: 'COMPOSE_UNSUPPORTED' });
  expect(acts).toEqual(['down']);
});
