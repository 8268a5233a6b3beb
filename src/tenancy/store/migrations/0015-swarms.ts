import type { Kysely } from 'kysely';

/** Which swarm hosts manage, and which of them another one stands for; few hosts are in one. */
export async function addSwarms({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('backends').addColumn('swarm_id', 'text').execute();
  await schema
    .alterTable('backends')
    .addColumn('follower', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema
    .createIndex('backends_by_swarm')
    .on('backends')
    .columns(['swarm_id', 'env', 'id'])
    .where('swarm_id', 'is not', null)
    .execute();
}
