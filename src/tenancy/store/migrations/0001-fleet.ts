import type { Kysely } from 'kysely';

type Schema = Kysely<unknown>['schema'];

/** Envs, backends, their reports, and steps that are to be done. */
export async function createFleet({ schema }: Kysely<unknown>): Promise<void> {
  await createEnvs(schema);
  await createBackends(schema);
  await createReports(schema);
  await createPendingSteps(schema);
}

async function createEnvs(schema: Schema): Promise<void> {
  await schema
    .createTable('envs')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('production', 'integer', (column) => column.notNull())
    .addColumn('desired_sha', 'text')
    .addColumn('last_sequence', 'bigint', (column) => column.notNull())
    .addColumn('pushed_sequence', 'bigint')
    .addColumn('deleted_at', 'bigint')
    .execute();
}

async function createBackends(schema: Schema): Promise<void> {
  await schema
    .createTable('backends')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('revision', 'integer', (column) => column.notNull())
    .addColumn('env', 'text', (column) => column.notNull().references('envs.name'))
    .addColumn('site', 'text', (column) => column.notNull())
    .addColumn('laptop', 'integer', (column) => column.notNull())
    .addColumn('transport', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('oldest_generation', 'integer', (column) => column.notNull())
    .addColumn('purge_volumes', 'integer', (column) => column.notNull())
    .addColumn('finished', 'text', (column) => column.notNull())
    .addColumn('state_since', 'bigint', (column) => column.notNull())
    .addColumn('last_seen_at', 'bigint')
    .addColumn('check_in', 'text')
    .addColumn('applied_sha', 'text')
    .addColumn('token_accessor', 'text')
    .addColumn('token_generation', 'integer')
    .addColumn('mesh_identity', 'text')
    .execute();
  await schema.createIndex('backends_by_env').on('backends').columns(['env', 'id']).execute();
  await schema.createIndex('backends_by_state').on('backends').columns(['state', 'last_seen_at']).execute();
}

async function createReports(schema: Schema): Promise<void> {
  await schema
    .createTable('reports')
    .addColumn('report_id', 'text', (column) => column.notNull())
    .addColumn('backend_id', 'text', (column) => column.notNull().references('backends.id'))
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('reports_by_id', ['backend_id', 'report_id'])
    .execute();
  await schema.createIndex('reports_by_time').on('reports').columns(['backend_id', 'received_at']).execute();
  await schema.createIndex('reports_by_age').on('reports').columns(['received_at']).execute();
}

async function createPendingSteps(schema: Schema): Promise<void> {
  await schema
    .createTable('pending_steps')
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('step', 'text', (column) => column.notNull())
    .addColumn('tries', 'integer', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('error', 'text')
    .addPrimaryKeyConstraint('pending_steps_by_subject', ['subject', 'step'])
    .execute();
  await schema.createIndex('pending_steps_by_time').on('pending_steps').columns(['due_at']).execute();
}
