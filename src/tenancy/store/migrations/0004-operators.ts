import { sql, type Kysely } from 'kysely';
import { isPostgres } from '../isPostgres.ts';

/** Operators with the digests of their tokens, and the audit log. */
export async function createOperators(db: Kysely<unknown>): Promise<void> {
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
