import type { Kysely } from 'kysely';

/** The keys that sign grants and leases. */
export async function createSigningKeys({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (column) => column.primaryKey())
    .addColumn('active_from', 'bigint', (column) => column.notNull())
    .addColumn('public_jwk', 'text', (column) => column.notNull())
    .addColumn('sealed_key', 'text', (column) => column.notNull())
    .execute();
}
