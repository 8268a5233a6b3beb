import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KyselyPlugin } from 'kysely';
import { createEnv } from '../store/envs.ts';
import { migrateStore, openStore, type Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import { auditEntry, byService } from './audit.ts';
import { type Change, ChangeFeed } from './changeFeed.ts';

let dir: string;
let store: Store;
let feed: ChangeFeed;
let queries: number;
let isBroken: boolean;
let lines: string[];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-changes-'));
  store = openStore({ file: join(dir, 'store.sqlite') });
  await migrateStore(store);
  await createEnv(store, 'eu-1', false);
  [queries, isBroken, lines] = [0, false, []];
  const watch: KyselyPlugin = {
    transformQuery: ({ node }) => {
      queries++;
      if (isBroken) throw new Error('the disk is away');
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  feed = new ChangeFeed({ store: store.withPlugin(watch), onError: (error) => void lines.push(String(error)) });
});
afterEach(async () => {
  feed.end();
  await store.destroy();
  await rm(dir, { recursive: true });
});

const act = (name: string) =>
  addAuditEntry(store, auditEntry({ clock: Date.now }, byService(name), { target: 'x', env: 'eu-1' }));
/** Listens; `next` resolves to the next reported changes. */
const listen = async () => {
  const told: PromiseWithResolvers<readonly Change[]>[] = [Promise.withResolvers()];
  const stop = await feed.listen((changes) => {
    told.at(-1)?.resolve(changes);
    told.push(Promise.withResolvers());
  });
  return { stop, next: () => told.at(-1)!.promise };
};

it('polls the store as often for many listeners as for one, and not at all without listeners', async () => {
  const listeners = await Promise.all([listen(), listen(), listen()]);
  const perLook = queries;
  const heard = listeners.map(({ next }) => next());
  await act('bundle.push');
  const expected = ['bundles', 'envs', 'audit'].map((topic) => ({ topic, env: 'eu-1' }));
  expect(await Promise.all(heard)).toEqual([expected, expected, expected]);
  expect(queries).toBe(2 * perLook);
  for (const { stop } of listeners) stop();
  const last = await listen();
  expect(queries).toBe(3 * perLook);
  const next = last.next();
  await act('secret.set');
  // The polls of the earlier listeners would have come sooner.
  expect(await next).toEqual(['secrets', 'audit'].map((topic) => ({ topic, env: 'eu-1' })));
  expect(queries).toBe(4 * perLook);
});

it('reports changes after a failed poll once the store is readable again', async () => {
  const { next } = await listen();
  isBroken = true;
  const told = next();
  await act('webhook.create');
  while (lines.length === 0) await new Promise(setImmediate);
  expect(lines).toEqual([expect.stringContaining('the disk is away')]);
  await expect(feed.listen(() => {})).resolves.toBeDefined();
  isBroken = false;
  expect(await told).toEqual(['webhooks', 'audit'].map((topic) => ({ topic, env: 'eu-1' })));
});

it('throws if the store cannot be read at the start', async () => {
  isBroken = true;
  await expect(listen()).rejects.toThrow('the disk is away');
  isBroken = false;
  const { next } = await listen();
  const told = next();
  await act('session.end');
  expect(await told).toMatchObject([{ topic: 'people' }, { topic: 'audit' }]);
});
