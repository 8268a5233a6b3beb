import type { Kysely } from 'kysely';

/** Rollouts, which of their waves backends have joined, and the labels by which waves choose backends. */
export async function createRollouts({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('rollouts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('env', 'text', (column) => column.notNull().references('envs.name'))
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('previous_sha', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('state_since', 'bigint', (column) => column.notNull())
    .addColumn('started', 'integer', (column) => column.notNull())
    .addColumn('halted_by', 'text')
    .addColumn('plan', 'text', (column) => column.notNull())
    .addColumn('progress', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('rollouts_by_env').on('rollouts').columns(['env', 'created_at']).execute();
  await schema.alterTable('envs').addColumn('rollout_id', 'text').execute();
  await schema
    .alterTable('backends')
    .addColumn('labels', 'text', (column) => column.notNull().defaultTo('{}'))
    .execute();
  await schema.alterTable('backends').addColumn('rollout_id', 'text').execute();
  await schema.alterTable('backends').addColumn('rollout_wave', 'integer').execute();
  await schema.alterTable('backends').addColumn('rollout_outcome', 'text').execute();
}
