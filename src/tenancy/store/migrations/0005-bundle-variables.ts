import type { Kysely } from 'kysely';

/** The variables of bundles. */
export async function addBundleVariables({ schema }: Kysely<unknown>): Promise<void> {
  const empty = '{}';
  await schema
    .alterTable('bundles')
    .addColumn('variables', 'text', (column) => column.notNull().defaultTo(empty))
    .execute();
}
