import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Compilable, sql } from 'kysely';
import { type AuditFilter, auditQuery } from './people.ts';
import { type BackendFilter, type BackendPage, groupQuery, pageQuery } from './fleet.ts';
import { migrateStore, openStore, type Store } from './openStore.ts';

let dir: string;
let store: Store;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-fleet-'));
  store = openStore({ file: join(dir, 'store.sqlite') });
  await migrateStore(store);
});
afterAll(async () => {
  await store.destroy();
  await rm(dir, { recursive: true });
});

/** The steps of SQLite's plan of a query that read a table, without the conditions. */
async function planOf(query: Compilable, table = 'backends'): Promise<string[]> {
  const { sql: text, parameters } = query.compile();
  const values = text
    .split('?')
    .flatMap((part, index) => [...(index === 0 ? [] : [sql.val(parameters[index - 1])]), sql.raw(part)]);
  const { rows } = await sql<{ detail: string }>`explain query plan ${sql.join(values, sql.raw(''))}`.execute(store);
  return rows.map(({ detail }) => detail.replace(/ \(.*/, '')).filter((step) => step.includes(table));
}

const everything: BackendFilter = {
  envs: null,
  states: null,
  search: null,
  host: null,
  isBehind: false,
  isSick: false,
  isCloned: false,
  isDiffering: false,
  deferredBy: null,
  swarmId: null,
};
const page: BackendPage = { ...everything, order: { column: 'id', isDescending: false }, after: null, limit: 100 };
const covering = expect.stringMatching(/^(SCAN|SEARCH) backends USING COVERING INDEX backends_by_condition$/) as string;
const rowsOfPage = 'SEARCH backends USING INDEX sqlite_autoindex_backends_1';

describe.each(['id', 'host_name', 'site', 'state', 'last_seen_at', 'agent_version'] as const)(
  'a list by %s',
  (column) => {
    it.each<[string, Partial<BackendPage>]>([
      ['everything', {}],
      ['some environments', { envs: ['eu-1', 'us-1'] }],
      ['some states', { states: ['active', 'retired'] }],
      ['a search', { search: 'berlin' }],
      ['a host by its name', { host: 'web-3' }],
      ['hosts that are out of date', { isBehind: true }],
      ['unhealthy hosts', { isSick: true }],
      ['hosts on hold', { deferredBy: 'hold' }],
      [
        'all of it',
        { envs: ['eu-1'], states: ['active'], search: 'berlin', isBehind: true, isSick: true, deferredBy: 'hold' },
      ],
      ['the next page', { after: { key: 'x', id: 'y' } }],
    ])('of %s reads one index, and the rows of its page', async (_what, filter) => {
      for (const isDescending of [false, true]) {
        const plan = await planOf(pageQuery(store, { ...page, ...filter, order: { column, isDescending } }));
        expect(plan).toEqual([covering, rowsOfPage]);
      }
    });
  },
);

it('a list of the managers of a swarm reads only their entries of one index', async () => {
  const plan = await planOf(pageQuery(store, { ...page, envs: ['eu-1'], swarmId: 's-1' }));
  expect(plan).toEqual(['SEARCH backends USING INDEX backends_by_swarm', rowsOfPage]);
});

it.each([[null], [['eu-1', 'us-1']]])(
  'the counts of the environments %j read only that index, in its order',
  async (envs) => {
    const { sql: text } = groupQuery(store, envs).compile();
    expect(text).not.toContain('order by');
    expect(await planOf(groupQuery(store, envs))).toEqual([covering]);
  },
);

it.each<[string, Partial<AuditFilter>, string]>([
  ['an action', { act: 'env.create' }, 'audit_by_act'],
  ['an actor', { actor: 'ann' }, 'audit_by_actor'],
  ['a target', { target: 'x' }, 'audit_by_target'],
  ['an action after an id', { act: 'env.create', after: { id: 7, addedBefore: 9 } }, 'audit_by_act'],
  ['the next page of an action', { act: 'env.create', before: 7 }, 'audit_by_act'],
])('a page of the audit log of %s reads as many entries of one index, in its order', async (_what, filter, index) => {
  const query = auditQuery(store, { envs: null, limit: 50, ...filter });
  expect(await planOf(query, 'audit')).toEqual([`SEARCH audit USING INDEX ${index}`]);
});
