import { randomUUID } from 'node:crypto';
import type { WebhookEvent } from '../../protocol/webhooks.ts';
import type { Place, WebhookDeliveryRow } from './database.ts';
import { isDue, type DueBounds } from './dueTime.ts';
import type { Store } from './openStore.ts';

/** Queues an event for webhooks, in the transaction of what it tells. */
export async function queueEvent(
  work: Store,
  event: WebhookEvent,
  { webhooks, now }: { webhooks: readonly string[]; now: number },
): Promise<void> {
  if (webhooks.length === 0) return;
  const begin = { queued_at: now, due_at: now, tries: 0, error: null, dead_at: null };
  const body = JSON.stringify(event);
  const rows = webhooks.map((webhook_id) => ({ id: `msg_${randomUUID()}`, webhook_id, event: body, ...begin }));
  await work.insertInto('webhook_deliveries').values(rows).execute();
}

/** The oldest delivery to a webhook that is due; null if there is none. */
export async function findDueDelivery(
  store: Store,
  webhookId: string,
  bounds: DueBounds,
): Promise<WebhookDeliveryRow | null> {
  const query = store.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId);
  const due = query.where('dead_at', 'is', null).where(isDue('due_at', bounds));
  return (await due.orderBy('number').limit(1).executeTakeFirst()) ?? null;
}

/** Removes a delivery that the endpoint has taken. */
export async function removeDelivery(work: Store, id: string): Promise<void> {
  await work.deleteFrom('webhook_deliveries').where('id', '=', id).execute();
}

/** Keeps why a delivery has failed, and when it is due again. */
export async function postponeDelivery(
  work: Store,
  id: string,
  { error, dueAt }: { error: string; dueAt: number },
): Promise<void> {
  const update = work.updateTable('webhook_deliveries').where('id', '=', id);
  await update.set(({ eb }) => ({ error, due_at: dueAt, tries: eb('tries', '+', 1) })).execute();
}

/** Makes dead letters of the deliveries to a webhook that were queued before a time: of all, or of one. */
export async function buryDeliveries(
  work: Store,
  webhookId: string,
  { id, queuedBefore, error, now }: { id?: string | undefined; queuedBefore: number; error: string; now: number },
): Promise<void> {
  let update = work.updateTable('webhook_deliveries').set({ dead_at: now, error }).where('webhook_id', '=', webhookId);
  if (id !== undefined) update = update.where('id', '=', id);
  await update.where('dead_at', 'is', null).where('queued_at', '<', queuedBefore).execute();
}

/** A page of the dead letters of a webhook, newest first; `before` is the place of the last one of the page before. */
export function listDeadLetters(
  store: Store,
  webhookId: string,
  { before, limit }: { before?: Place | undefined; limit: number },
): Promise<(WebhookDeliveryRow & { dead_at: number })[]> {
  let query = store.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId);
  if (before !== undefined)
    query = query.where((where) => where(where.refTuple('dead_at', 'id'), '<', where.tuple(before.time, before.id)));
  const dead = query.where('dead_at', 'is not', null).$narrowType<{ dead_at: number }>();
  return dead.orderBy('dead_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
}

/** Queues dead letters of a webhook anew: one, or all; returns how many. */
export async function requeueDeadLetters(
  work: Store,
  webhookId: string,
  { id, now }: { id?: string | undefined; now: number },
): Promise<number> {
  const begin = { dead_at: null, queued_at: now, due_at: now, tries: 0 };
  let update = work.updateTable('webhook_deliveries').set(begin).where('webhook_id', '=', webhookId);
  if (id !== undefined) update = update.where('id', '=', id);
  return Number((await update.where('dead_at', 'is not', null).executeTakeFirstOrThrow()).numUpdatedRows);
}

/** Deletes dead letters from before a time, and whatever is of no webhook any more, so many at once; returns how many. */
export async function deleteDeadLetters(store: Store, before: number, limit: number): Promise<number> {
  const webhooks = store.selectFrom('webhooks').select('id');
  const old = store
    .selectFrom('webhook_deliveries')
    .select('id')
    .where((where) => where.or([where('dead_at', '<', before), where('webhook_id', 'not in', webhooks)]))
    .limit(limit);
  const deletion = store.deleteFrom('webhook_deliveries').where('id', 'in', old);
  return Number((await deletion.executeTakeFirstOrThrow()).numDeletedRows);
}

/** What is kept for a webhook. */
export interface DeliveryCounts {
  /** Still to be delivered. */
  pending: number;
  /** Dead letters. */
  dead: number;
}

const none: DeliveryCounts = { pending: 0, dead: 0 };

/** Counts what is kept for each of some webhooks. */
export async function countDeliveries(
  store: Store,
  webhooks: readonly string[],
): Promise<(id: string) => DeliveryCounts> {
  if (webhooks.length === 0) return () => none;
  const rows = await store
    .selectFrom('webhook_deliveries')
    .select(({ fn }) => ['webhook_id', fn.countAll<number>().as('all'), fn.count<number>('dead_at').as('dead')])
    .where('webhook_id', 'in', webhooks)
    .groupBy('webhook_id')
    .execute();
  const counts = new Map(rows.map(({ webhook_id, all, dead }) => [webhook_id, { pending: all - dead, dead }]));
  return (id) => counts.get(id) ?? none;
}

/** How much is kept for all webhooks together. */
export async function countAllDeliveries(store: Store): Promise<DeliveryCounts> {
  const { all, dead } = await store
    .selectFrom('webhook_deliveries')
    .select(({ fn }) => [fn.countAll<number>().as('all'), fn.count<number>('dead_at').as('dead')])
    .executeTakeFirstOrThrow();
  return { pending: all - dead, dead };
}
