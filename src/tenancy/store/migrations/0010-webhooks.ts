import type { Kysely } from 'kysely';
import { isPostgres } from '../isPostgres.ts';

/** Webhooks, the events that are still to be delivered to them, and which trouble of a backend was told. */
export async function createWebhooks(db: Kysely<unknown>): Promise<void> {
  await createEndpoints(db.schema);
  await createDeliveries(db.schema, isPostgres(db));
  await db.schema.alterTable('backends').addColumn('trouble', 'text').execute();
}

type Schema = Kysely<unknown>['schema'];

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
