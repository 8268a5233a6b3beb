import type { Kysely } from 'kysely';

/** Bundles, and the archives that the storage may hold. */
export async function createBundles({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('bundles')
    .addColumn('sha256', 'text', (column) => column.primaryKey())
    .addColumn('env', 'text', (column) => column.notNull().references('envs.name'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('sequence', 'bigint', (column) => column.notNull())
    .addColumn('size_bytes', 'bigint', (column) => column.notNull())
    .addColumn('production', 'integer', (column) => column.notNull())
    .addColumn('allow_privileged', 'integer', (column) => column.notNull())
    .addColumn('allow_rollback', 'integer', (column) => column.notNull())
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('received_from', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('bundles_by_env').on('bundles').columns(['env', 'sequence']).unique().execute();
  await schema
    .createTable('archives')
    .addColumn('sha256', 'text', (column) => column.primaryKey())
    .addColumn('announced_at', 'bigint', (column) => column.notNull())
    .addColumn('removing', 'integer', (column) => column.notNull())
    .execute();
}
