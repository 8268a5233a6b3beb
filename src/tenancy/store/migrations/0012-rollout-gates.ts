import type { Kysely } from 'kysely';

/** How far the webhook of a gate was asked. */
export async function addRolloutGates({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('rollouts').addColumn('gate_due_at', 'bigint').execute();
  await schema
    .alterTable('rollouts')
    .addColumn('gate_tries', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema.alterTable('rollouts').addColumn('gate_reason', 'text').execute();
}
