import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Changes of the tables by name, oldest first; a released one is never edited. */
export const migrations: Record<string, Migration> = {
  '0001-fleet': { up: createFleet },
  '0002-signing-keys': { up: createSigningKeys },
};

async function createFleet({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('envs')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('production', 'integer', (column) => column.notNull())
    .addColumn('desired_sha', 'text')
    .addColumn('last_sequence', 'bigint', (column) => column.notNull())
    .execute();
  await schema
    .createTable('backends')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('env', 'text', (column) => column.notNull().references('envs.name'))
    .addColumn('site', 'text', (column) => column.notNull())
    .addColumn('laptop', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('purge_volumes', 'integer', (column) => column.notNull())
    .addColumn('finished', 'text', (column) => column.notNull())
    .addColumn('state_since', 'bigint', (column) => column.notNull())
    .addColumn('last_seen_at', 'bigint')
    .addColumn('check_in', 'text')
    .execute();
  await schema.createIndex('backends_by_env').on('backends').columns(['env', 'id']).execute();
  await schema.createIndex('backends_by_state').on('backends').columns(['state', 'last_seen_at']).execute();
  await schema
    .createTable('reports')
    .addColumn('report_id', 'text', (column) => column.notNull())
    .addColumn('backend_id', 'text', (column) => column.notNull().references('backends.id'))
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('reports_by_id', ['backend_id', 'report_id'])
    .execute();
  await schema.createIndex('reports_by_time').on('reports').columns(['backend_id', 'received_at']).execute();
}

async function createSigningKeys({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (column) => column.primaryKey())
    .addColumn('active_from', 'bigint', (column) => column.notNull())
    .addColumn('public_jwk', 'text', (column) => column.notNull())
    .addColumn('sealed_key', 'text', (column) => column.notNull())
    .execute();
}
