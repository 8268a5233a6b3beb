import { sql, type Kysely } from 'kysely';

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

type Backend = Record<'id' | 'site' | 'labels', string> & { check_in: string | null };

/** Not by functions of the database: those of PostgreSQL for JSON refuse texts that hosts may tell. */
async function fillColumns(db: Kysely<unknown>): Promise<void> {
  const pageAfter = (after: string) => {
    const query = db.$extendTables<{ backends: Backend }>().selectFrom('backends').where('id', '>', after);
    return query.select(['id', 'site', 'labels', 'check_in']).orderBy('id').limit(BACKENDS_AT_ONCE).execute();
  };
  for (let page = await pageAfter(''); page.length > 0; page = await pageAfter(page.at(-1)?.id ?? '')) {
    await sql`with filled (id, search, healthy, agent_version) as (values ${sql.join(page.map(valuesOf))})
      update backends set search = filled.search, healthy = cast(filled.healthy as integer),
        agent_version = filled.agent_version
      from filled where backends.id = filled.id`.execute(db);
  }
}

function valuesOf({ id, site, labels, check_in }: Backend) {
  const texts = [site, ...Object.values(JSON.parse(labels) as Record<string, string>)];
  const search = texts.join('\n').toLowerCase().slice(0, MAX_SEARCH_LENGTH);
  if (check_in === null) return sql`(${id}, ${search}, ${null}, ${''})`;
  const { agent, healthy } = JSON.parse(check_in) as { agent: { version: string }; healthy: boolean };
  return sql`(${id}, ${search}, ${Number(healthy)}, ${agent.version.replace(/[^ -~]/g, '?').slice(0, 64)})`;
}
