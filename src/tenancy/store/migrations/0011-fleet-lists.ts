import type { Kysely } from 'kysely';

/** Backends that are changed at a time. */
const BACKENDS_AT_ONCE = 500;
/** Entries of indexes of PostgreSQL have at most 2700 bytes. */
const MAX_SEARCH_LENGTH = 500;

/** What backends are listed, searched, sorted and counted by, with one index that has all of it. */
export async function createFleetLists(db: Kysely<unknown>): Promise<void> {
  const none = '';
  await db.schema.alterTable('backends').addColumn('healthy', 'integer').execute();
  for (const name of ['agent_version', 'search']) {
    await db.schema
      .alterTable('backends')
      .addColumn(name, 'text', (column) => column.notNull().defaultTo(none))
      .execute();
  }
  await fillColumns(db);
  await db.schema
    .createIndex('backends_by_condition')
    .on('backends')
    .columns(['state', 'env', 'healthy', 'trouble', 'agent_version', 'applied_sha', 'rollout_id'])
    .columns(['last_seen_at', 'search', 'id'])
    .execute();
}

interface Tables {
  backends: {
    id: string;
    site: string;
    labels: string;
    check_in: string | null;
    healthy: number | null;
    agent_version: string;
    search: string;
  };
}

/** Not by functions of the database: those of PostgreSQL for JSON refuse texts that hosts may tell. */
async function fillColumns(db: Kysely<Tables>): Promise<void> {
  const pageAfter = (after: string) => {
    const query = db.selectFrom('backends').select(['id', 'site', 'labels', 'check_in']).where('id', '>', after);
    return query.orderBy('id').limit(BACKENDS_AT_ONCE).execute();
  };
  for (let page = await pageAfter(''); page.length > 0; page = await pageAfter(page.at(-1)?.id ?? '')) {
    for (const { id, ...row } of page) {
      await db.updateTable('backends').set(columnsOf(row)).where('id', '=', id).execute();
    }
  }
}

function columnsOf({ site, labels, check_in }: Pick<Tables['backends'], 'site' | 'labels' | 'check_in'>) {
  const values = Object.values(JSON.parse(labels) as Record<string, string>);
  const search = [site, ...values].join('\n').toLowerCase().slice(0, MAX_SEARCH_LENGTH);
  if (check_in === null) return { search };
  const { agent, healthy } = JSON.parse(check_in) as { agent: { version: string }; healthy: boolean };
  const agent_version = agent.version.replace(/[^ -~]/g, '?').slice(0, 64);
  return { search, healthy: Number(healthy), agent_version };
}
