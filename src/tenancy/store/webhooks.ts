import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { EventType, WebhookEvent } from '../../api/webhooks.rules.ts';
import type { Place, WebhookDeliveryRow, WebhookMarkRow, WebhookRow } from './database.ts';
import { type DueBounds, isDue } from './pendingSteps.ts';
import { inTransaction, type Store } from './openStore.ts';

/** Keeps a new webhook. */
export async function insertWebhook(work: Store, row: WebhookRow): Promise<void> {
  await work.insertInto('webhooks').values(row).execute();
}

/** The row of a webhook; null if there is none. */
export async function findWebhook(store: Store, id: string): Promise<WebhookRow | null> {
  return (await store.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** A page of the webhooks of environments, by id; null for all, including webhooks for every environment. */
export function listWebhooks(
  store: Store,
  { after, envs, limit }: { after?: string | undefined; envs: readonly string[] | null; limit: number },
): Promise<WebhookRow[]> {
  let query = store.selectFrom('webhooks').selectAll().orderBy('id').limit(limit);
  if (after !== undefined) query = query.where('id', '>', after);
  if (envs !== null) query = query.where('env', 'in', envs);
  return query.execute();
}

/** Number of webhooks of an environment, or for every environment (null). */
export async function countWebhooks(store: Store, env: string | null): Promise<number> {
  const query = store.selectFrom('webhooks').select(({ fn }) => fn.countAll<number>().as('count'));
  return (await query.where('env', 'is not distinct from', env).executeTakeFirstOrThrow()).count;
}

/** Ids of the webhooks that get events of a type in an environment. */
export async function findSubscribed(store: Store, type: EventType, env: string): Promise<string[]> {
  const query = store.selectFrom('webhooks').select(['id', 'events']);
  const rows = await query.where((where) => where.or([where('env', 'is', null), where('env', '=', env)])).execute();
  return rows.filter(({ events }) => (JSON.parse(events) as EventType[]).includes(type)).map(({ id }) => id);
}

/** Deletes a webhook and its queued events; returns false if there is none. */
export async function deleteWebhook(work: Store, id: string): Promise<boolean> {
  await work.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute();
  return (await work.deleteFrom('webhooks').where('id', '=', id).executeTakeFirstOrThrow()).numDeletedRows === 1n;
}

/** Deletes the webhooks of an environment; the next `deleteDeadLetters` deletes their queued events. */
export async function deleteWebhooksOf(work: Store, env: string): Promise<void> {
  await work.deleteFrom('webhooks').where('env', '=', env).execute();
}

/** Changes columns of a webhook. */
export async function updateWebhook(work: Store, id: string, columns: Partial<WebhookRow>): Promise<void> {
  await work.updateTable('webhooks').set(columns).where('id', '=', id).execute();
}

/** Replaces the secret of a webhook; the previous secret also signs until a time. */
export async function rotateWebhookSecret(
  work: Store,
  id: string,
  { sealed_secret, previous_until }: Pick<WebhookRow, 'sealed_secret'> & { previous_until: number },
): Promise<boolean> {
  const update = work.updateTable('webhooks').where('id', '=', id);
  const rotated = update.set((set) => ({
    sealed_previous_secret: set.ref('sealed_secret'),
    sealed_secret,
    previous_until,
  }));
  return (await rotated.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/**
 * The current time, and the longest intervals for which a webhook is claimed and an endpoint is paused; milliseconds.
 */
export interface WebhookBounds {
  now: number;
  claimMs: number;
  pauseMs: number;
}

/** Ids of unclaimed webhooks with a due delivery, the longest waiting ones first. */
export async function findDueWebhooks(
  store: Store,
  { now, claimMs, pauseMs }: WebhookBounds,
  limit: number,
): Promise<string[]> {
  const rows = await store
    .selectFrom('webhooks')
    .innerJoin('webhook_deliveries', 'webhook_deliveries.webhook_id', 'webhooks.id')
    .select(({ fn }) => ['webhooks.id', fn.min('due_at').as('due')])
    .where(isDue('claimed_until', { now, longestMs: claimMs }))
    .where(isDue('paused_until', { now, longestMs: pauseMs }))
    .where('dead_at', 'is', null)
    .where(isDue('due_at', { now, longestMs: pauseMs }))
    .groupBy('webhooks.id')
    .orderBy('due')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Claims a webhook for one instance for a time; returns null if another instance claimed it first. */
export async function claimWebhook(
  store: Store,
  id: string,
  { now, claimMs }: Pick<WebhookBounds, 'now' | 'claimMs'>,
): Promise<WebhookRow | null> {
  const claim = (work: Store) =>
    work
      .updateTable('webhooks')
      .set({ claimed_until: now + claimMs })
      .where('id', '=', id)
      .where(isDue('claimed_until', { now, longestMs: claimMs }))
      .returningAll()
      .executeTakeFirst();
  return (await inTransaction(store, claim)) ?? null;
}

/** Releases a claimed webhook, unless the claim has expired. */
export async function releaseWebhook(store: Store, { id, claimed_until }: WebhookRow): Promise<void> {
  const update = store.updateTable('webhooks').set({ claimed_until: 0 }).where('id', '=', id);
  await update.where('claimed_until', '=', claimed_until).execute();
}

/** Queues an event at these times by webhook, in the transaction of the change; `subject` is the host, or empty. */
export async function queueEvent(
  work: Store,
  event: WebhookEvent,
  { dues, env, subject, now }: { dues: ReadonlyMap<string, number>; env: string; subject: string; now: number },
): Promise<void> {
  if (dues.size === 0) return;
  const begin = { env, subject, queued_at: now, tries: 0, error: null, dead_at: null };
  const body = JSON.stringify(event);
  const rows = [...dues].map(([webhook_id, due_at]) => ({
    ...{ id: `msg_${randomUUID()}`, webhook_id, event: body, due_at },
    ...begin,
  }));
  await work.insertInto('webhook_deliveries').values(rows).execute();
}

/** The deliveries of a host's events that are neither accepted nor dead, in their order. */
export function listWaiting(work: Store, subject: string): Promise<WebhookDeliveryRow[]> {
  const query = work.selectFrom('webhook_deliveries').selectAll().where('subject', '=', subject);
  return query.where('dead_at', 'is', null).orderBy('number').execute();
}

/** When each webhook got, or is to get, the newest event of a kind about a host. */
export async function findMarks(work: Store, subject: string, kind: string): Promise<Map<string, number>> {
  const query = work.selectFrom('webhook_marks').select(['webhook_id', 'announced_at']);
  const rows = await query.where('subject', '=', subject).where('kind', '=', kind).execute();
  return new Map(rows.map(({ webhook_id, announced_at }) => [webhook_id, announced_at]));
}

/** Stores when a webhook gets an event of a kind about a host. */
export async function setMark(work: Store, mark: WebhookMarkRow): Promise<void> {
  const { announced_at } = mark;
  await work
    .insertInto('webhook_marks')
    .values(mark)
    .onConflict((conflict) => conflict.columns(['webhook_id', 'subject', 'kind']).doUpdateSet({ announced_at }))
    .execute();
}

/** Number of an environment's deliveries before the next environment has its turn. */
const TURN = 10;

/** Ids of the oldest due deliveries to a webhook, some of each environment: one of each, then the next of each. */
export async function findDueDeliveries(store: Store, webhookId: string, bounds: DueBounds): Promise<string[]> {
  const ranked = store
    .selectFrom('webhook_deliveries')
    .select(['id', 'number', sql<number>`row_number() over (partition by env order by number)`.as('place')])
    .where('webhook_id', '=', webhookId)
    .where('dead_at', 'is', null)
    .where(isDue('due_at', bounds));
  const rows = await store
    .selectFrom(ranked.as('ranked'))
    .select('id')
    .where('place', '<=', TURN)
    .orderBy('place')
    .orderBy('number')
    .execute();
  return rows.map(({ id }) => id);
}

/** A delivery, if it is still due. */
export async function findDueDelivery(store: Store, id: string, bounds: DueBounds): Promise<WebhookDeliveryRow | null> {
  const query = store.selectFrom('webhook_deliveries').selectAll().where('id', '=', id);
  return (await query.where('dead_at', 'is', null).where(isDue('due_at', bounds)).executeTakeFirst()) ?? null;
}

/** Deletes the marks from before a time, and the marks of deleted webhooks. */
export async function deleteMarks(store: Store, before: number): Promise<void> {
  const webhooks = store.selectFrom('webhooks').select('id');
  await store
    .deleteFrom('webhook_marks')
    .where((where) => where.or([where('announced_at', '<', before), where('webhook_id', 'not in', webhooks)]))
    .execute();
}

/** Removes a delivery that the endpoint has accepted, or that was replaced. */
export async function removeDelivery(work: Store, id: string): Promise<void> {
  await work.deleteFrom('webhook_deliveries').where('id', '=', id).execute();
}

/** Stores the error of a delivery, and the time of its next attempt. */
export async function postponeDelivery(
  work: Store,
  id: string,
  { error, dueAt }: { error: string; dueAt: number },
): Promise<void> {
  const update = work.updateTable('webhook_deliveries').where('id', '=', id);
  await update.set(({ eb }) => ({ error, due_at: dueAt, tries: eb('tries', '+', 1) })).execute();
}

/** Turns the deliveries to a webhook that were queued before a time, all or one, into dead letters. */
export async function buryDeliveries(
  work: Store,
  webhookId: string,
  { id, queuedBefore, error, now }: { id?: string | undefined; queuedBefore: number; error: string; now: number },
): Promise<void> {
  let update = work.updateTable('webhook_deliveries').set({ dead_at: now, error }).where('webhook_id', '=', webhookId);
  if (id !== undefined) update = update.where('id', '=', id);
  await update.where('dead_at', 'is', null).where('queued_at', '<', queuedBefore).execute();
}

/** A page of the dead letters of a webhook, newest first; `before` is the position of the previous page's last one. */
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

/** Queues dead letters of a webhook again: one, or all; returns how many. */
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

/** Deletes up to `limit` dead letters from before a time, and deliveries of deleted webhooks; returns how many. */
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

/** Numbers of deliveries of a webhook. */
export interface DeliveryCounts {
  /** Not delivered yet. */
  pending: number;
  /** Dead letters. */
  dead: number;
}

const none: DeliveryCounts = { pending: 0, dead: 0 };

/** Counts the deliveries of each of some webhooks. */
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

/** Counts the deliveries of all webhooks together. */
export async function countAllDeliveries(store: Store): Promise<DeliveryCounts> {
  const { all, dead } = await store
    .selectFrom('webhook_deliveries')
    .select(({ fn }) => [fn.countAll<number>().as('all'), fn.count<number>('dead_at').as('dead')])
    .executeTakeFirstOrThrow();
  return { pending: all - dead, dead };
}
