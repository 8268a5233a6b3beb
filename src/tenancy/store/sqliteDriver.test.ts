import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { createEnv, findEnv } from './envs.ts';
import { migrateStore, openStore, type Store } from './openStore.ts';

let dir: string;
let store: Store;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-store-'));
  store = openStore({ file: join(dir, 'store.sqlite') });
  await migrateStore(store);
});
afterEach(async () => {
  await store.destroy();
  await rm(dir, { recursive: true });
});

const names = (count: number) => Array.from({ length: count }, (_, index) => `env-${index}`);
const countEnvs = async () => {
  const { count } = await store
    .selectFrom('envs')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
};

it('commits concurrent transactions as one group, and shows none before the commit', async () => {
  const creations = names(50).map((name) => createEnv(store, name, false));
  expect(await countEnvs()).toBe(0);
  expect(await Promise.all(creations)).toEqual(Array<boolean>(50).fill(true));
  expect(await countEnvs()).toBe(50);
});

it('rolls back a failed transaction, and keeps earlier and later ones', async () => {
  const failing = store.transaction().execute(async (work) => {
    await work
      .insertInto('envs')
      .values({ name: 'failed', production: 0, desired_sha: null, last_sequence: 0 })
      .execute();
    throw new Error('no');
  });
  const [first, , last] = await Promise.allSettled([
    createEnv(store, 'a', false),
    failing,
    createEnv(store, 'b', false),
  ]);
  expect([first.status, last.status]).toEqual(['fulfilled', 'fulfilled']);
  await expect(failing).rejects.toThrow('no');
  expect(await Promise.all(['a', 'failed', 'b'].map(async (name) => (await findEnv(store, name))?.name))).toEqual([
    'a',
    undefined,
    'b',
  ]);
});

it('keeps nothing that it could not write, and continues when there is space again', async () => {
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(store);
  const limit = (pages: number) => sql`pragma max_page_count = ${sql.lit(pages)}`.execute(store);
  await limit(rows[0]!.page_count + 2);
  const long = names(40).map((name) => createEnv(store, name.padEnd(2000, '-'), false));
  const results = await Promise.allSettled(long);
  const kept = results.filter(({ status }) => status === 'fulfilled').length;
  expect(kept).toBeLessThan(40);
  expect(await countEnvs()).toBe(kept);
  await limit(1_000_000);
  expect(await createEnv(store, 'after', false)).toBe(true);
  expect(await countEnvs()).toBe(kept + 1);
});

it('fails while another process has locked the file, and continues afterwards', async () => {
  const other = new DatabaseSync(join(dir, 'store.sqlite'));
  other.exec('begin immediate');
  await expect(createEnv(store, 'locked', false)).rejects.toThrow('database is locked');
  other.exec('rollback');
  other.close();
  expect(await createEnv(store, 'locked', false)).toBe(true);
});
