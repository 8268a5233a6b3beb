import type { Kysely } from 'kysely';

/** Signatures of bundles, whom the hosts of an env believe, and what a bundle replaces once it is signed. */
export async function createSignatures({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('signatures')
    .addColumn('bundle_sha256', 'text', (column) => column.notNull().references('bundles.sha256').onDelete('cascade'))
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('signer', 'text')
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('received_from', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('signatures_of_bundles', ['bundle_sha256', 'sha256'])
    .execute();
  await schema
    .createTable('bundle_trusts')
    .addColumn('env', 'text', (column) => column.primaryKey().references('envs.name'))
    .addColumn('threshold', 'integer', (column) => column.notNull())
    .addColumn('trust', 'text', (column) => column.notNull())
    .execute();
  await schema.alterTable('bundles').addColumn('replaces', 'text').execute();
}
