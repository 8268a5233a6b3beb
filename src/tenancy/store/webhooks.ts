import type { EventType } from '../../protocol/webhooks.ts';
import type { WebhookRow } from './database.ts';
import { isDue } from './dueTime.ts';
import type { Store } from './openStore.ts';

/** Keeps a new webhook. */
export async function insertWebhook(work: Store, row: WebhookRow): Promise<void> {
  await work.insertInto('webhooks').values(row).execute();
}

/** The row of a webhook; null if there is none. */
export async function findWebhook(store: Store, id: string): Promise<WebhookRow | null> {
  return (await store.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** A page of the webhooks of envs, by id; null for all, also those that are for every env. */
export function listWebhooks(
  store: Store,
  { after, envs, limit }: { after?: string | undefined; envs: readonly string[] | null; limit: number },
): Promise<WebhookRow[]> {
  let query = store.selectFrom('webhooks').selectAll().orderBy('id').limit(limit);
  if (after !== undefined) query = query.where('id', '>', after);
  if (envs !== null) query = query.where('env', 'in', envs);
  return query.execute();
}

/** How many webhooks an env has, or how many are for every env (null). */
export async function countWebhooks(store: Store, env: string | null): Promise<number> {
  const query = store.selectFrom('webhooks').select(({ fn }) => fn.countAll<number>().as('count'));
  return (await query.where('env', 'is not distinct from', env).executeTakeFirstOrThrow()).count;
}

/** Ids of the webhooks that are told of events of a type in an env. */
export async function findSubscribed(store: Store, type: EventType, env: string): Promise<string[]> {
  const query = store.selectFrom('webhooks').select(['id', 'events']);
  const rows = await query.where((where) => where.or([where('env', 'is', null), where('env', '=', env)])).execute();
  return rows.filter(({ events }) => (JSON.parse(events) as EventType[]).includes(type)).map(({ id }) => id);
}

/** Deletes a webhook with what was still to be delivered to it; false if there is none. */
export async function deleteWebhook(work: Store, id: string): Promise<boolean> {
  await work.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute();
  return (await work.deleteFrom('webhooks').where('id', '=', id).executeTakeFirstOrThrow()).numDeletedRows === 1n;
}

/** Deletes the webhooks of an env; what was still to be delivered to them goes with the next `deleteDeadLetters`. */
export async function deleteWebhooksOf(work: Store, env: string): Promise<void> {
  await work.deleteFrom('webhooks').where('env', '=', env).execute();
}

/** Changes columns of a webhook. */
export async function updateWebhook(work: Store, id: string, columns: Partial<WebhookRow>): Promise<void> {
  await work.updateTable('webhooks').set(columns).where('id', '=', id).execute();
}

/** Gives a webhook another secret; the one before, whoever has set it, also signs until a time. */
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

/** Now, and how long an instance claims a webhook, and leaves an endpoint alone, at most; milliseconds. */
export interface WebhookBounds {
  now: number;
  claimMs: number;
  pauseMs: number;
}

/** Ids of webhooks to which something is due, and which nobody has claimed, those that wait longest first. */
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

/** Takes a webhook for so long, for one instance alone; null if another one was faster. */
export async function claimWebhook(
  store: Store,
  id: string,
  { now, claimMs }: Pick<WebhookBounds, 'now' | 'claimMs'>,
): Promise<WebhookRow | null> {
  const update = store
    .updateTable('webhooks')
    .set({ claimed_until: now + claimMs })
    .where('id', '=', id);
  return (
    (await update
      .where(isDue('claimed_until', { now, longestMs: claimMs }))
      .returningAll()
      .executeTakeFirst()) ?? null
  );
}

/** Gives a claimed webhook back, unless it is not the instance's any more. */
export async function releaseWebhook(store: Store, { id, claimed_until }: WebhookRow): Promise<void> {
  const update = store.updateTable('webhooks').set({ claimed_until: 0 }).where('id', '=', id);
  await update.where('claimed_until', '=', claimed_until).execute();
}
