import type { Kysely } from 'kysely';

/** Tokens of operators that end, and those that are kept for emergencies. */
export async function createPeople({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('operators').addColumn('expires_at', 'bigint').execute();
  await schema
    .alterTable('operators')
    .addColumn('break_glass', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}
