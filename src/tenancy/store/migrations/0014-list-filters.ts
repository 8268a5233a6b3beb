import type { Kysely } from 'kysely';

/** What defers the work of hosts, in the index of their lists, and acts by who has done what. */
export async function addListFilters({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('backends').addColumn('deferred_by', 'text').execute();
  await schema.dropIndex('backends_by_condition').execute();
  await schema
    .createIndex('backends_by_condition')
    .on('backends')
    .columns(['state', 'env', 'healthy', 'trouble', 'agent_version', 'applied_sha', 'rollout_id', 'deferred_by'])
    .columns(['last_seen_at', 'search', 'id'])
    .execute();
  for (const column of ['actor', 'act']) {
    await schema.createIndex(`audit_by_${column}`).on('audit').columns([column, 'id']).execute();
  }
}
