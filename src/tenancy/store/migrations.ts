import { PostgresAdapter, sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Changes of the tables by name, oldest first; a released one is never edited. */
export const migrations: Record<string, Migration> = {
  '0001-fleet': { up: createFleet },
  '0002-signing-keys': { up: createSigningKeys },
  '0003-bundles': { up: createBundles },
  '0004-operators': { up: createOperators },
};

type Schema = Kysely<unknown>['schema'];

async function createFleet({ schema }: Kysely<unknown>): Promise<void> {
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

async function createSigningKeys({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (column) => column.primaryKey())
    .addColumn('active_from', 'bigint', (column) => column.notNull())
    .addColumn('public_jwk', 'text', (column) => column.notNull())
    .addColumn('sealed_key', 'text', (column) => column.notNull())
    .execute();
}

async function createBundles({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('bundles')
    .addColumn('sha256', 'text', (column) => column.primaryKey())
    .addColumn('env', 'text', (column) => column.notNull().references('envs.name'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('sequence', 'bigint', (column) => column.notNull())
    .addColumn('size_bytes', 'bigint', (column) => column.notNull())
    .addColumn('production', 'integer', (column) => column.notNull())
    .addColumn('allow_privileged', 'integer', (column) => column.notNull())
    .addColumn('allow_rollback', 'integer', (column) => column.notNull())
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('received_from', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('bundles_by_env').on('bundles').columns(['env', 'sequence']).unique().execute();
  await schema
    .createTable('archives')
    .addColumn('sha256', 'text', (column) => column.primaryKey())
    .addColumn('announced_at', 'bigint', (column) => column.notNull())
    .addColumn('removing', 'integer', (column) => column.notNull())
    .execute();
}

async function createOperators(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  await db.schema
    .createTable('operators')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('envs', 'text')
    .addColumn('token_sha256', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .execute();
  const names = db.schema.createIndex('operators_by_name').on('operators').columns(['name']).unique();
  await names.where(sql.ref('revoked_at'), 'is', null).execute();
  await db.schema
    .createTable('audit')
    .addColumn('id', isPostgres ? 'bigserial' : 'integer', (column) =>
      isPostgres ? column.primaryKey() : column.primaryKey().autoIncrement(),
    )
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('act', 'text', (column) => column.notNull())
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('env', 'text')
    .addColumn('address', 'text')
    .addColumn('request_id', 'text')
    .addColumn('result', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('audit_by_env').on('audit').columns(['env', 'id']).execute();
  for (const statement of isPostgres ? appendOnlyPostgres : appendOnlySqlite) await sql.raw(statement).execute(db);
}

const appendOnlySqlite = ['update', 'delete'].map(
  (change) =>
    `create trigger audit_no_${change} before ${change} on audit begin select raise(abort, 'the audit log is append-only'); end`,
);
const appendOnlyPostgres = [
  `create function refuse_change() returns trigger language plpgsql as $$ begin raise exception 'the audit log is append-only'; end $$`,
  'create trigger audit_append_only before update or delete or truncate on audit execute function refuse_change()',
];
