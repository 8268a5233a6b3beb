import { randomUUID } from 'node:crypto';
import { testEvent } from '../../rules/webhooks/event.ts';
import { addAuditEntry } from '../../store/audit.ts';
import type { Place } from '../../store/database.ts';
import { listDeadLetters as selectDeadLetters, requeueDeadLetters } from '../../store/webhookDeliveries.ts';
import { updateWebhook } from '../../store/webhooks.ts';
import { auditEntry } from '../audit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { AuditCaller } from '../operator.ts';
import { toPage } from '../page.ts';
import { sendEvent } from './send.ts';
import { deadLetterView, type DeadLetterView } from './webhookViews.ts';
import { findPermittedWebhook, type NamedWebhook } from './webhooks.ts';

/** A page of the events that could not be delivered to a webhook, newest first; throws 404 and 403. */
export async function listDeadLetters(
  deps: Dependencies,
  { before, limit, ...named }: NamedWebhook & { before?: Place | undefined; limit: number },
): Promise<{ deliveries: DeadLetterView[]; last: Place | null }> {
  const { id } = await findPermittedWebhook(deps, named, 'viewer');
  const { items, last } = toPage(await selectDeadLetters(deps.store, id, { before, limit: limit + 1 }), limit);
  return { deliveries: items.map(deadLetterView), last: last && { time: last.dead_at, id: last.id } };
}

/** Tries dead letters of a webhook again, all or one; tells how many. Throws 404 and 403. */
export async function redeliver(
  deps: Dependencies,
  { caller, delivery, ...named }: NamedWebhook & { caller: AuditCaller; delivery?: string | undefined },
): Promise<{ queued: number }> {
  const { id, name, env } = await findPermittedWebhook(deps, named, 'admin');
  const queued = await deps.store.transaction().execute(async (work) => {
    const count = await requeueDeadLetters(work, id, { id: delivery, now: deps.clock() });
    await updateWebhook(work, id, { paused_until: 0, failures: 0 });
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${id} ${name}`, env }));
    return count;
  });
  return { queued };
}

/** What became of a test. */
export interface TestResult {
  delivered: boolean;
  /** Of the endpoint's answer; null without one. */
  status: number | null;
  error: string | null;
}

/** Sends a test to a webhook, once and at once; what waits for its endpoint goes on when it has worked. Throws 404 and 403. */
export async function testWebhook(
  deps: Dependencies,
  { caller, signal, ...named }: NamedWebhook & { caller: AuditCaller; signal: AbortSignal },
): Promise<TestResult> {
  const webhook = await findPermittedWebhook(deps, named, 'admin');
  const { id, name, env } = webhook;
  const event = testEvent(env, deps.clock());
  const { error, status } = await sendEvent(deps, webhook, { id: `msg_${randomUUID()}`, event, signal });
  await deps.store.transaction().execute(async (work) => {
    if (error === null) await updateWebhook(work, id, { paused_until: 0, failures: 0, error });
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${id} ${name}`, env }));
  });
  return { delivered: error === null, status, error };
}
