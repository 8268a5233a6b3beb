import type { Kysely } from 'kysely';

/** Bundles that hosts which permit it apply outside their windows. */
export async function addEmergencies({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('bundles')
    .addColumn('emergency', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}
