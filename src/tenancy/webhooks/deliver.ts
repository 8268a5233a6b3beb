import { setTimeout } from 'node:timers/promises';
import type { WebhookEvent } from '../../protocol/webhooks.ts';
import type { Dependencies } from '../core/dependencies.ts';
import type { WebhookDeliveryRow, WebhookRow } from '../store/database.ts';
import {
  buryDeliveries,
  claimWebhook,
  deleteDeadLetters,
  findDueDelivery,
  findDueWebhooks,
  findWebhook,
  postponeDelivery,
  releaseWebhook,
  removeDelivery,
  updateWebhook,
  type WebhookBounds,
} from '../store/webhooks.ts';
import { isRefusal, retryDelayMs } from './event.rules.ts';
import { type Attempt, sendEvent } from './send.ts';

/** Webhooks that one instance delivers to at once. */
const WEBHOOKS_AT_ONCE = 50;
/** An instance has a webhook for itself for so long; if it dies meanwhile another one goes on. */
const CLAIM_MS = 120_000;
/** It begins no delivery later than so long after the claim: one takes a minute at most. */
const BEGIN_WITHIN_MS = 50_000;
/** How often it looks for webhooks that have become due while it delivers to others. */
const LOOK_EVERY_MS = 1000;
const DAY_MS = 24 * 3600_000;
/** Dead letters that are deleted in one transaction. */
const LETTERS_AT_ONCE = 1000;

/**
 * Delivers what is due, to each webhook one event after the other in the order in which they happened, and to all webhooks at
 * once, so that none waits for another; ends when nothing is due.
 */
export async function deliverWebhooks(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const running = new Map<string, Promise<void>>();
  const broken = new Set<string>();
  do {
    const due = signal.aborted ? [] : await findDueWebhooks(deps.store, boundsOf(deps), WEBHOOKS_AT_ONCE);
    const idle = due.filter((id) => !running.has(id) && !broken.has(id));
    for (const id of idle.slice(0, WEBHOOKS_AT_ONCE - running.size)) {
      const work = deliverTo(deps, id, signal).catch((error: unknown) => {
        broken.add(id);
        deps.log('error', `the delivery to a webhook has failed: ${String(error)}`, { webhook: id });
      });
      running.set(
        id,
        work.finally(() => running.delete(id)),
      );
    }
    if (running.size > 0) await Promise.race([...running.values(), setTimeout(LOOK_EVERY_MS, null, { ref: false })]);
  } while (running.size > 0);
}

/** Deletes dead letters that are older than `webhooks.keep_dead_days`. */
export async function removeOldDeadLetters({ store, settings, clock }: Dependencies): Promise<void> {
  const before = clock() - settings.webhooks.keep_dead_days * DAY_MS;
  while ((await deleteDeadLetters(store, before, LETTERS_AT_ONCE)) === LETTERS_AT_ONCE);
}

function boundsOf({ clock, settings }: Dependencies): WebhookBounds {
  return { now: clock(), claimMs: CLAIM_MS, pauseMs: settings.webhooks.longest_retry_s * 1000 };
}

async function deliverTo(deps: Dependencies, id: string, signal: AbortSignal): Promise<void> {
  const { store, clock } = deps;
  const { now, claimMs, pauseMs } = boundsOf(deps);
  const claimed = await claimWebhook(store, id, { now, claimMs });
  if (claimed === null) return;
  try {
    let webhook: WebhookRow | null = claimed;
    // Its row is read anew for each event: it may have been deleted, or have another secret.
    while (webhook !== null && !signal.aborted && clock() < now + BEGIN_WITHIN_MS) {
      const delivery = await findDueDelivery(store, id, { now: clock(), longestMs: pauseMs });
      if (delivery === null || !(await deliver(deps, { webhook, delivery }, signal))) return;
      webhook = await findWebhook(store, id);
    }
  } finally {
    await releaseWebhook(store, claimed);
  }
}

/** One webhook and what is delivered to it. */
interface Delivery {
  webhook: WebhookRow;
  delivery: WebhookDeliveryRow;
}

/** Tries one delivery; false if the endpoint is to be left alone for a while. */
async function deliver(deps: Dependencies, { webhook, delivery }: Delivery, signal: AbortSignal): Promise<boolean> {
  const event = JSON.parse(delivery.event) as WebhookEvent;
  const { error, ...answer } = await sendEvent(deps, webhook, { id: delivery.id, event, signal });
  // The service stops: nothing was learned of the endpoint.
  if (error !== null && signal.aborted) return false;
  if (error !== null) return keepFailure(deps, { webhook, delivery }, { error, ...answer });
  await deps.store.transaction().execute(async (work) => {
    await removeDelivery(work, delivery.id);
    if (webhook.failures > 0 || webhook.error !== null) {
      await updateWebhook(work, webhook.id, { failures: 0, paused_until: 0, error: null });
    }
  });
  return true;
}

/** Postpones a message that was refused, and all of an endpoint that fails; what has waited for too long is a dead letter. */
async function keepFailure(
  { store, settings, clock, log }: Dependencies,
  { webhook, delivery }: Delivery,
  { error, status, retryAfterS }: Attempt & { error: string },
): Promise<boolean> {
  const now = clock();
  const isAlone = isRefusal(status);
  const failures = isAlone ? 0 : webhook.failures + 1;
  const bounds = { random: Math.random(), retryAfterS };
  const pauseMs = Math.round(retryDelayMs(isAlone ? delivery.tries + 1 : failures, settings.webhooks, bounds));
  const queuedBefore = now + pauseMs - settings.webhooks.give_up_after_s * 1000;
  if (error !== webhook.error) log('warn', `a webhook could not be delivered: ${error}`, { webhook: webhook.id });
  await store.transaction().execute(async (work) => {
    // An endpoint that failed gets them in the old order.
    await postponeDelivery(work, delivery.id, { error, dueAt: isAlone ? now + pauseMs : delivery.due_at });
    await updateWebhook(work, webhook.id, { failures, error, paused_until: isAlone ? 0 : now + pauseMs });
    const one = isAlone ? { id: delivery.id } : {};
    await buryDeliveries(work, webhook.id, { ...one, queuedBefore, error, now });
  });
  return isAlone;
}
