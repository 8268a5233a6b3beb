import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Changes of the tables by name, oldest first; a released one is never edited. */
export const migrations: Record<string, Migration> = {
  '0001-fleet': { up: createFleet },
  '0002-signing-keys': { up: createSigningKeys },
  '0003-bundles': { up: createBundles },
  '0004-operators': { up: createOperators },
  '0005-bundle-variables': { up: addBundleVariables },
  '0006-signatures': { up: createSignatures },
  '0007-bundle-profiles': { up: addBundleProfiles },
  '0008-rollouts': { up: createRollouts },
  '0009-people': { up: createPeople },
  '0010-webhooks': { up: createWebhooks },
  '0011-fleet-lists': { up: createFleetLists },
  '0012-rollout-gates': { up: addRolloutGates },
  '0013-emergencies': { up: addEmergencies },
  '0014-list-filters': { up: addListFilters },
  '0015-swarms': { up: addSwarms },
  '0016-pipelines': { up: addPipelines },
  '0017-locks': { up: addLocks },
  '0018-counters': { up: widenCounters },
  '0019-host-copies': { up: addHostCopies },
  '0020-secret-grace': { up: addSecretGrace },
  '0021-restores': { up: addRestores },
  '0022-differing': { up: addDiffering },
  '0023-audit-counts': { up: addAuditCounts },
  '0024-webhook-queues': { up: addWebhookQueues },
  '0025-rollout-members': { up: addRolloutMembers },
  '0026-same-bundles': { up: addSameBundles },
  '0027-host-names': { up: addHostNames },
  '0028-rollout-waits': { up: addRolloutWaits },
  '0029-previous-bundles': { up: addPreviousBundles },
  '0030-desired-since': { up: addDesiredSince },
  '0031-audit-values': { up: addAuditValues },
  '0032-applied-since': { up: addAppliedSince },
  '0033-returns': { up: addReturns },
  '0034-own-authority': { up: createTlsCertificates },
  '0035-secretstore': { up: createSecretstore },
  '0036-troubles': { up: addTroubles },
  '0037-brief-webhooks': { up: addBriefWebhooks },
  '0038-host-codes': { up: createHostCodes },
};

type Schema = Kysely<unknown>['schema'];

/** Environments, backends, their reports, and pending steps. */
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

/** The keys that sign grants and leases. */
async function createSigningKeys({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('signing_keys')
    .addColumn('kid', 'text', (column) => column.primaryKey())
    .addColumn('active_from', 'bigint', (column) => column.notNull())
    .addColumn('public_jwk', 'text', (column) => column.notNull())
    .addColumn('sealed_key', 'text', (column) => column.notNull())
    .execute();
}

/** Bundles, and the archives that the storage may contain. */
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

/** Operators with the digests of their tokens, and the audit log. */
async function createOperators(db: Kysely<unknown>): Promise<void> {
  const onPostgres = isPostgres(db);
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
    .addColumn('id', onPostgres ? 'bigserial' : 'integer', (column) =>
      onPostgres ? column.primaryKey() : column.primaryKey().autoIncrement(),
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
  for (const statement of onPostgres ? appendOnlyPostgres : appendOnlySqlite) await sql.raw(statement).execute(db);
}

const appendOnlySqlite = ['update', 'delete'].map(
  (change) =>
    `create trigger audit_no_${change} before ${change} on audit begin select raise(abort, 'the audit log is append-only'); end`,
);
const appendOnlyPostgres = [
  `create function refuse_change() returns trigger language plpgsql as $$ begin raise exception 'the audit log is append-only'; end $$`,
  'create trigger audit_append_only before update or delete or truncate on audit execute function refuse_change()',
];

/** The variables of bundles. */
async function addBundleVariables({ schema }: Kysely<unknown>): Promise<void> {
  const empty = '{}';
  await schema
    .alterTable('bundles')
    .addColumn('variables', 'text', (column) => column.notNull().defaultTo(empty))
    .execute();
}

/** Signatures of bundles, the trusted signers of an environment, and the bundle that a signed bundle replaces. */
async function createSignatures({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('signatures')
    .addColumn('bundle_sha256', 'text', (column) => column.notNull().references('bundles.sha256').onDelete('cascade'))
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('signer', 'text')
    .addColumn('received_at', 'bigint', (column) => column.notNull())
    .addColumn('received_from', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('signatures_of_bundles', ['bundle_sha256', 'sha256'])
    .execute();
  await schema
    .createTable('bundle_trusts')
    .addColumn('env', 'text', (column) => column.primaryKey().references('envs.name'))
    .addColumn('threshold', 'integer', (column) => column.notNull())
    .addColumn('trust', 'text', (column) => column.notNull())
    .execute();
  await schema.alterTable('bundles').addColumn('replaces', 'text').execute();
}

/** The profiles that bundles select. */
async function addBundleProfiles({ schema }: Kysely<unknown>): Promise<void> {
  const none = '[]';
  await schema
    .alterTable('bundles')
    .addColumn('profiles', 'text', (column) => column.notNull().defaultTo(none))
    .execute();
}

/** Rollouts, the waves that backends have joined, and the labels by which waves select backends. */
async function createRollouts({ schema }: Kysely<unknown>): Promise<void> {
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

/** Expiring tokens of operators, emergency tokens, and sessions of signed-in people. */
async function createPeople({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('operators').addColumn('expires_at', 'bigint').execute();
  await schema
    .alterTable('operators')
    .addColumn('break_glass', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema
    .createTable('sessions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('secret_sha256', 'text', (column) => column.notNull().unique())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('groups', 'text', (column) => column.notNull())
    .addColumn('sealed_refresh_token', 'text')
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_used_at', 'bigint', (column) => column.notNull())
    .addColumn('checked_at', 'bigint', (column) => column.notNull())
    .addColumn('claimed_until', 'bigint', (column) => column.notNull())
    .execute();
}

/** Webhooks, their queued events, and the announced problem of a backend. */
async function createWebhooks(db: Kysely<unknown>): Promise<void> {
  await createEndpoints(db.schema);
  await createDeliveries(db.schema, isPostgres(db));
  await db.schema.alterTable('backends').addColumn('trouble', 'text').execute();
}

async function createEndpoints(schema: Schema): Promise<void> {
  await schema
    .createTable('webhooks')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('env', 'text')
    .addColumn('events', 'text', (column) => column.notNull())
    .addColumn('format', 'text', (column) => column.notNull())
    .addColumn('origin', 'text', (column) => column.notNull())
    .addColumn('sealed_url', 'text', (column) => column.notNull())
    .addColumn('sealed_secret', 'text', (column) => column.notNull())
    .addColumn('sealed_previous_secret', 'text')
    .addColumn('previous_until', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('claimed_until', 'bigint', (column) => column.notNull())
    .addColumn('paused_until', 'bigint', (column) => column.notNull())
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('error', 'text')
    .execute();
}

async function createDeliveries(schema: Schema, onPostgres: boolean): Promise<void> {
  await schema
    .createTable('webhook_deliveries')
    .addColumn('number', onPostgres ? 'bigserial' : 'integer', (column) =>
      onPostgres ? column.primaryKey() : column.primaryKey().autoIncrement(),
    )
    .addColumn('id', 'text', (column) => column.notNull().unique())
    .addColumn('webhook_id', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('queued_at', 'bigint', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('tries', 'integer', (column) => column.notNull())
    .addColumn('error', 'text')
    .addColumn('dead_at', 'bigint')
    .execute();
  await schema
    .createIndex('webhook_deliveries_by_webhook')
    .on('webhook_deliveries')
    .columns(['webhook_id', 'dead_at', 'number'])
    .execute();
}

/** Number of backends to change at a time. */
const BACKENDS_AT_ONCE = 500;
/** Index entries of PostgreSQL have at most 2700 bytes. */
const MAX_SEARCH_LENGTH = 500;

/** The columns for listing, searching, sorting and counting backends, with one index over all of them. */
async function createFleetLists(db: Kysely<unknown>): Promise<void> {
  const none = '';
  await db.schema.alterTable('backends').addColumn('healthy', 'integer').execute();
  for (const name of ['agent_version', 'search']) {
    await db.schema
      .alterTable('backends')
      .addColumn(name, 'text', (column) => column.notNull().defaultTo(none))
      .execute();
  }
  await fillColumns(db);
  await db.schema
    .createIndex('backends_by_condition')
    .on('backends')
    .columns(['state', 'env', 'healthy', 'trouble', 'agent_version', 'applied_sha', 'rollout_id'])
    .columns(['last_seen_at', 'search', 'id'])
    .execute();
}

type Backend = Record<'id' | 'site' | 'labels', string> & { check_in: string | null };

/** Not with functions of the database: PostgreSQL's JSON functions reject texts that hosts may send. */
async function fillColumns(db: Kysely<unknown>): Promise<void> {
  for await (const page of pagesOfBackends(db)) {
    await sql`with filled (id, search, healthy, agent_version) as (values ${sql.join(page.map(valuesOf))})
      update backends set search = filled.search, healthy = cast(filled.healthy as integer),
        agent_version = filled.agent_version
      from filled where backends.id = filled.id`.execute(db);
  }
}

async function* pagesOfBackends(db: Kysely<unknown>): AsyncGenerator<Backend[]> {
  const pageAfter = (after: string) => {
    const query = db.$extendTables<{ backends: Backend }>().selectFrom('backends').where('id', '>', after);
    return query.select(['id', 'site', 'labels', 'check_in']).orderBy('id').limit(BACKENDS_AT_ONCE).execute();
  };
  for (let page = await pageAfter(''); page.length > 0; page = await pageAfter(page.at(-1)?.id ?? '')) yield page;
}

function valuesOf({ id, site, labels, check_in }: Backend) {
  const texts = [site, ...Object.values(JSON.parse(labels) as Record<string, string>)];
  const search = texts.join('\n').toLowerCase().slice(0, MAX_SEARCH_LENGTH);
  if (check_in === null) return sql`(${id}, ${search}, ${null}, ${''})`;
  const { agent, healthy } = JSON.parse(check_in) as { agent: { version: string }; healthy: boolean };
  return sql`(${id}, ${search}, ${Number(healthy)}, ${agent.version.replace(/[^ -~]/g, '?').slice(0, 64)})`;
}

/** The progress of calling a gate's webhook. */
async function addRolloutGates({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('rollouts').addColumn('gate_due_at', 'bigint').execute();
  await schema
    .alterTable('rollouts')
    .addColumn('gate_tries', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await schema.alterTable('rollouts').addColumn('gate_reason', 'text').execute();
}

/** Bundles that hosts with this permission apply outside their maintenance windows. */
async function addEmergencies({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('bundles')
    .addColumn('emergency', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

/** The reason why hosts defer work, in the index of their lists, and audit entries by action and actor. */
async function addListFilters({ schema }: Kysely<unknown>): Promise<void> {
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

/** The swarm that hosts manage, and whether another manager represents it; few hosts are in a swarm. */
async function addSwarms({ schema }: Kysely<unknown>): Promise<void> {
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

/** The last CI pipeline that promoted, so that an older one cannot promote after it. */
async function addPipelines({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('envs').addColumn('pipeline', 'bigint').execute();
}

/** When an operator locked a backend, whose calls are refused since. */
async function addLocks({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('backends').addColumn('locked_at', 'bigint').execute();
}

/** Counters of calls and kits of a host, which are integers of 32 bits in PostgreSQL only. */
async function widenCounters(db: Kysely<unknown>): Promise<void> {
  if (!isPostgres(db)) return;
  const counters = ['revision', 'generation', 'oldest_generation', 'token_generation'];
  await sql`alter table backends ${sql.join(counters.map((name) => sql`alter column ${sql.id(name)} type bigint`))}`.execute(
    db,
  );
}

/** The hosts that have used the token of a backend, and the backends that were cloned, which are few. */
async function addHostCopies({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('backends').addColumn('hosts', 'text').execute();
  await schema.alterTable('backends').addColumn('cloned_at', 'bigint').execute();
  await schema
    .createIndex('backends_by_clone')
    .on('backends')
    .columns(['cloned_at', 'env', 'id'])
    .where('cloned_at', 'is not', null)
    .execute();
}

/** The end of the secrets of an environment without hosts, and whether a retired host has reported `down`. */
async function addSecretGrace({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('envs').addColumn('secrets_choice', 'text').execute();
  await schema.alterTable('envs').addColumn('secrets_destroy_at', 'bigint').execute();
  // Of earlier retirements nobody knows; they are not warned about.
  await schema
    .alterTable('backends')
    .addColumn('down_reported', 'integer', (column) => column.notNull().defaultTo(1))
    .execute();
}

/**
 * When an environment was held after a restore, and how often the kit of a backend was revealed: a restore skips
 * generations, a thousand each time.
 */
async function addRestores(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('envs').addColumn('held_since', 'bigint').execute();
  await db.schema
    .alterTable('backends')
    .addColumn('kits', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`update backends set kits = generation % 1000`.execute(db);
}

/** Whether the settings of hosts differ from the recorded ones, in the index of their lists; each check-in sets it. */
async function addDiffering({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('backends').addColumn('differing', 'integer').execute();
  await schema.dropIndex('backends_by_condition').execute();
  await schema
    .createIndex('backends_by_condition')
    .on('backends')
    .columns(['state', 'env', 'healthy', 'trouble', 'agent_version', 'applied_sha', 'rollout_id', 'deferred_by'])
    .columns(['differing', 'last_seen_at', 'search', 'id'])
    .execute();
}

/**
 * Counts of repeated refusals in the audit log, the time before which its entries may be removed, and display names of
 * operators.
 */
async function addAuditCounts(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema.alterTable('operators').addColumn('display_name', 'text').execute();
  await schema
    .alterTable('audit')
    .addColumn('count', 'integer', (column) => column.notNull().defaultTo(1))
    .execute();
  await schema
    .createTable('audit_retention')
    .addColumn('removable_before', 'bigint', (column) => column.notNull())
    .execute();
  for (const statement of isPostgres(db) ? countedPostgres : countedSqlite) await sql.raw(statement).execute(db);
}

const unchangeable = 'id, at, actor, act, target, env, address, request_id, result';
const removable = '(select coalesce(max(removable_before), 0) from audit_retention)';
const abortChange = `begin select raise(abort, 'the audit log is append-only'); end`;
const countedSqlite = [
  'drop trigger audit_no_update',
  'drop trigger audit_no_delete',
  `create trigger audit_no_update before update of ${unchangeable} on audit ${abortChange}`,
  `create trigger audit_no_lower before update of count on audit when new.count <= old.count ${abortChange}`,
  `create trigger audit_no_delete before delete on audit when old.at >= ${removable} ${abortChange}`,
];
const countedPostgres = [
  'drop trigger audit_append_only on audit',
  'create trigger audit_no_truncate before truncate on audit execute function refuse_change()',
  `create trigger audit_no_update before update of ${unchangeable} on audit execute function refuse_change()`,
  'create trigger audit_no_lower before update on audit for each row when (new.count <= old.count) execute function refuse_change()',
  `create function refuse_early_removal() returns trigger language plpgsql as $$ begin if old.at >= ${removable} then raise exception 'the audit log is append-only'; end if; return old; end $$`,
  'create trigger audit_no_delete before delete on audit for each row execute function refuse_early_removal()',
];

/** The environment and host of a queued event, and when each kind of event of a host was announced. */
async function addWebhookQueues({ schema }: Kysely<unknown>): Promise<void> {
  for (const column of ['env', 'subject'])
    await schema
      .alterTable('webhook_deliveries')
      .addColumn(column, 'text', (added) => added.notNull().defaultTo(''))
      .execute();
  await schema
    .createIndex('webhook_deliveries_by_subject')
    .on('webhook_deliveries')
    .columns(['subject', 'webhook_id'])
    .execute();
  await schema
    .createTable('webhook_marks')
    .addColumn('webhook_id', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('announced_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('webhook_marks_key', ['webhook_id', 'subject', 'kind'])
    .execute();
}

/** When the last wave of a rollout started, and the wave of each host, in the index of their lists. */
async function addRolloutMembers({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('rollouts').addColumn('wave_started_at', 'bigint').execute();
  await schema.dropIndex('backends_by_condition').execute();
  await schema
    .createIndex('backends_by_condition')
    .on('backends')
    .columns(['state', 'env', 'healthy', 'trouble', 'agent_version', 'applied_sha', 'rollout_id', 'rollout_wave'])
    .columns(['deferred_by', 'differing', 'last_seen_at', 'search', 'id'])
    .execute();
}

/** The bundle from which another one differs only by its sequence. */
async function addSameBundles({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('bundles').addColumn('same_as', 'text').execute();
  await schema
    .createIndex('bundles_by_same')
    .on('bundles')
    .columns(['same_as'])
    .where('same_as', 'is not', null)
    .execute();
}

/** The name that each host reports, in the index of their lists. */
async function addHostNames(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  const none = '';
  await schema
    .alterTable('backends')
    .addColumn('host_name', 'text', (column) => column.notNull().defaultTo(none))
    .execute();
  for await (const page of pagesOfBackends(db)) {
    const named = page.map(({ id, check_in }) => sql`(${id}, ${nameIn(check_in)})`);
    await sql`with filled (id, host_name) as (values ${sql.join(named)})
      update backends set host_name = filled.host_name from filled where backends.id = filled.id`.execute(db);
  }
  await schema.dropIndex('backends_by_condition').execute();
  await schema
    .createIndex('backends_by_condition')
    .on('backends')
    .columns(['state', 'env', 'healthy', 'trouble', 'agent_version', 'applied_sha', 'rollout_id', 'rollout_wave'])
    .columns(['deferred_by', 'differing', 'last_seen_at', 'search', 'host_name', 'id'])
    .execute();
}

function nameIn(checkIn: string | null): string {
  if (checkIn === null) return '';
  const { host } = JSON.parse(checkIn) as { host: { name: string } };
  return host.name.replace(/[^ -~]/g, '?').slice(0, 64);
}

/** The wait of a rollout that operators were notified of. */
async function addRolloutWaits({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('rollouts').addColumn('waiting_told', 'bigint').execute();
}

/** The bundle that was desired before, from the newest rollout of the desired one. */
async function addPreviousBundles(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('envs').addColumn('previous_sha', 'text').execute();
  await sql`update envs set previous_sha = (select previous_sha from rollouts
    where rollouts.env = envs.name and rollouts.sha256 = envs.desired_sha and state = 'done'
    order by created_at desc limit 1)`.execute(db);
}

/** When the desired bundle was promoted: its newest entry in the audit log, otherwise when it was received. */
async function addDesiredSince(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('envs').addColumn('desired_since', 'bigint').execute();
  await sql`update envs set desired_since = coalesce(
    (select max(at) from audit where audit.env = envs.name and audit.target = envs.desired_sha
      and act in ('env.desired', 'rollout.start', 'bundle.repack') and result = 'ok'),
    (select received_at from bundles where bundles.sha256 = envs.desired_sha))
    where desired_sha is not null`.execute(db);
}

/** Values before and after actions in the audit log, which nobody can change either, and an index by target. */
async function addAuditValues(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  for (const column of ['old_value', 'new_value']) await schema.alterTable('audit').addColumn(column, 'text').execute();
  await schema.createIndex('audit_by_target').on('audit').columns(['target', 'id']).execute();
  const refuse = isPostgres(db) ? 'execute function refuse_change()' : abortChange;
  await sql
    .raw(`create trigger audit_no_new_value before update of old_value, new_value on audit ${refuse}`)
    .execute(db);
}

/** When the check-ins of a host began to report its bundle. */
async function addAppliedSince({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('backends').addColumn('applied_since', 'bigint').execute();
}

/** The sequence of the earlier bundle whose content a rollback deploys again. */
async function addReturns({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('bundles').addColumn('returns_to', 'bigint').execute();
}

/** The certificates of the server and of the service's own authority. */
async function createTlsCertificates({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('tls_certificates')
    .addColumn('role', 'text', (column) => column.primaryKey())
    .addColumn('certificate', 'text', (column) => column.notNull())
    .addColumn('sealed_key', 'text', (column) => column.notNull())
    .execute();
}

/** The embedded secretstore: keys of environments, versions of secrets, and tokens. */
async function createSecretstore({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('secretstore_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('env', 'text', (column) => column.notNull().unique())
    .addColumn('wrapped', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('secretstore_versions')
    .addColumn('env', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('deleted_at', 'bigint')
    .addColumn('destroyed', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('secretstore_versions_place', ['env', 'key', 'version'])
    .execute();
  await schema
    .createTable('secretstore_tokens')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('accessor', 'text', (column) => column.notNull().unique())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('meta', 'text', (column) => column.notNull())
    .addColumn('policies', 'text', (column) => column.notNull())
    .addColumn('issued_at', 'bigint', (column) => column.notNull())
    .addColumn('creation_ttl_s', 'bigint', (column) => column.notNull())
    .addColumn('explicit_max_ttl_s', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('renewed_at', 'bigint')
    .execute();
  await schema.createIndex('secretstore_tokens_by_expiry').on('secretstore_tokens').column('expires_at').execute();
}

/**
 * Since when a host is in trouble, and its words. They are filled from its reports: the oldest one of a problem after the
 * newest other one, and the next report of a problem.
 */
async function addTroubles(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('backends').addColumn('trouble_since', 'bigint').execute();
  await db.schema.alterTable('backends').addColumn('trouble_reason', 'text').execute();
  const problems = sql`('failed', 'refused', 'unhealthy')`;
  await sql`update backends set trouble_since = coalesce(
      (select min(received_at) from reports where backend_id = backends.id and outcome in ${problems}
        and received_at > coalesce((select max(received_at) from reports
          where backend_id = backends.id and outcome not in ${problems}), 0)),
      state_since)
    where trouble is not null or healthy = 0`.execute(db);
  for (let after = ''; ;) {
    const page = await troubledAfter(db, after);
    for (const { id, body } of page) {
      const { outcome, code, detail, output_tail } = JSON.parse(body) as Record<string, string | null>;
      const shown = { outcome, code, detail: detail?.slice(0, 500) ?? null, output: output_tail?.slice(-500) ?? null };
      const reason = JSON.stringify(shown);
      await sql`update backends set trouble_reason = ${reason} where id = ${id}`.execute(db);
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

/** Some backends in trouble by id, each with its newest report of a problem. */
async function troubledAfter(db: Kysely<unknown>, after: string): Promise<{ id: string; body: string }[]> {
  const newest = sql`select body from reports where backend_id = backends.id
    and outcome in ('failed', 'refused', 'unhealthy') order by received_at desc, report_id desc limit 1`;
  const { rows } = await sql<{ id: string; body: string }>`select id, body from (select id, (${newest}) as body
    from backends where trouble is not null and id > ${after}) as troubled
    where body is not null order by id limit 100`.execute(db);
  return rows;
}

/** Webhooks whose messages do not contain the words of hosts. */
async function addBriefWebhooks({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .alterTable('webhooks')
    .addColumn('brief', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

/** One-time codes that add hosts, and the names of these. */
async function createHostCodes({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('backends').addColumn('added_as', 'text').execute();
  await schema.dropIndex('backends_by_condition').execute();
  await schema
    .createIndex('backends_by_condition')
    .on('backends')
    .columns(['state', 'env', 'healthy', 'trouble', 'agent_version', 'applied_sha', 'rollout_id', 'rollout_wave'])
    .columns(['deferred_by', 'differing', 'last_seen_at', 'search', 'host_name', 'added_as', 'id'])
    .execute();
  await schema
    .createTable('host_codes')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('backend_id', 'text', (column) => column.notNull().unique().references('backends.id'))
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('host', 'text')
    .addColumn('generation', 'bigint')
    .execute();
}

/** True for a store in PostgreSQL, false for one in SQLite. */
export function isPostgres(store: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return store.getExecutor().adapter instanceof PostgresAdapter;
}
