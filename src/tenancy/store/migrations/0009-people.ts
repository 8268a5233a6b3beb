import type { Kysely } from 'kysely';

/** Tokens of operators that end, those that are kept for emergencies, and sessions of people who sign in. */
export async function createPeople({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('operators').addColumn('expires_at', 'bigint').execute();
  await schema
    .alterTable('operators')
    .addColumn('break_glass', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema
    .createTable('sessions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('secret_sha256', 'text', (column) => column.notNull().unique())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('groups', 'text', (column) => column.notNull())
    .addColumn('sealed_refresh_token', 'text')
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_used_at', 'bigint', (column) => column.notNull())
    .addColumn('checked_at', 'bigint', (column) => column.notNull())
    .addColumn('claimed_until', 'bigint', (column) => column.notNull())
    .execute();
}
