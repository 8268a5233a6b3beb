import type { Kysely } from 'kysely';

/** The profiles that bundles choose. */
export async function addBundleProfiles({ schema }: Kysely<unknown>): Promise<void> {
  const none = '[]';
  await schema
    .alterTable('bundles')
    .addColumn('profiles', 'text', (column) => column.notNull().defaultTo(none))
    .execute();
}
