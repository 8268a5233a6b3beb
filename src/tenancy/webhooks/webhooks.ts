import { randomUUID } from 'node:crypto';
import type { EventType, WebhookEvent, WebhookFormat } from '../../api/webhooks.rules.ts';
import { ApiError, notFound } from '../core/apiError.rules.ts';
import { auditEntry } from '../core/audit.ts';
import { type AuditCaller, type Operator, requirePermission, visibleEnvs } from '../core/permission.rules.ts';
import { toPage, toTime } from '../core/lists.rules.ts';
import { isAllowedHost, policyFor } from '../peers/addressPolicy.rules.ts';
import type { Place, Role, WebhookDeliveryRow, WebhookRow } from '../store/database.ts';
import { lockEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import {
  countDeliveries,
  countWebhooks,
  deleteWebhook as removeWebhook,
  type DeliveryCounts,
  findWebhook,
  insertWebhook,
  listDeadLetters as selectDeadLetters,
  listWebhooks as selectWebhooks,
  requeueDeadLetters,
  rotateWebhookSecret,
  updateWebhook,
} from '../store/webhooks.ts';
import { testEvent } from './event.rules.ts';
import { targetFault } from './message.rules.ts';
import type { Sealer } from '../keys/keyRing.ts';
import { type EventDependencies, newWebhookSecret, sealedNames, sendEvent } from './deliver.ts';
import type { DeadLetter, Webhook } from './webhookSchemas.ts';

/** Dependencies of operators' webhooks, including tests, which send an event. */
export interface WebhookDependencies extends EventDependencies {
  readonly store: Store;
}

/** Largest number of webhooks of an environment, or for all environments. */
const MAX_WEBHOOKS = 50;
/** Milliseconds after a rotation in which the previous secret also signs. */
const OVERLAP_MS = 24 * 3600_000;

/** A webhook that an operator names. */
interface NamedWebhook {
  operator: Operator;
  id: string;
}

/**
 * Returns the row of a webhook; throws 404, also if the operator may not see its environment, and 403 if the operator
 * has a lower role there.
 */
async function findPermittedWebhook(
  { store }: WebhookDependencies,
  { operator, id }: NamedWebhook,
  role: Role,
): Promise<WebhookRow> {
  const row = await findWebhook(store, id);
  if (row === null) throw notFound('webhook');
  requirePermission(operator, { role, env: row.env ?? { every: true } }, 'webhook');
  return row;
}

/** A page of webhooks by id: of an environment, otherwise all that the operator may see. */
export async function listWebhooks(
  { store }: WebhookDependencies,
  { operator, env, after, limit }: { operator: Operator; env?: string; after?: string; limit: number },
): Promise<{ webhooks: Webhook[]; next: string | null }> {
  const envs = env === undefined ? visibleEnvs(operator.permissions) : [env];
  const { items, last } = toPage(await selectWebhooks(store, { envs, after, limit: limit + 1 }), limit);
  const countsOf = await countDeliveries(
    store,
    items.map(({ id }) => id),
  );
  return { webhooks: items.map((row) => webhookView(row, countsOf(row.id))), next: last?.id ?? null };
}

/** Fields of a new webhook. */
interface WebhookFields {
  name: string;
  /** Null for all environments. */
  env: string | null;
  events: EventType[];
  format: WebhookFormat;
  brief?: boolean;
  url: string;
}

/**
 * Creates a webhook; only the answer contains its secret. Throws 403 if a token for some environments creates one for
 * all, 404 for an unknown environment, 409 `WEBHOOK_LIMIT`, and 422 `WEBHOOK_URL_INVALID` and `WEBHOOK_INVALID` (no
 * event types, and unusable for a gate).
 */
export async function createWebhook(
  deps: WebhookDependencies,
  { operator, caller, fields }: { operator: Operator; caller: AuditCaller; fields: WebhookFields },
): Promise<Webhook & { secret: string }> {
  const { name, env, url, format, events } = fields;
  requirePermission(operator, { role: 'admin', env: env ?? { every: true } });
  if (events.length === 0 && format !== 'standard')
    throw refusal(
      422,
      'WEBHOOK_INVALID',
      `without events it is for gates, which need the format standard, not ${format}`,
    );
  const fault = targetFault(url, format) ?? addressFault(deps, new URL(url));
  if (fault !== null) throw refusal(422, 'WEBHOOK_URL_INVALID', `the URL cannot be used: ${fault}`);
  const secret = newWebhookSecret();
  const row = rowOf(deps, fields, { secret, actor: caller.actor });
  await deps.store.transaction().execute(async (work) => {
    if (env !== null && (await lockEnv(work, env)) === null) throw notFound('env');
    if ((await countWebhooks(work, env)) >= MAX_WEBHOOKS)
      throw refusal(409, 'WEBHOOK_LIMIT', `there are ${MAX_WEBHOOKS} already`);
    await insertWebhook(work, row);
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${row.id} ${name}`, env }));
  });
  return { ...webhookView(row, { pending: 0, dead: 0 }), secret };
}

/** Deletes a webhook and its queued events; throws 404 and 403. */
export async function deleteWebhook(
  deps: WebhookDependencies,
  { caller, ...named }: NamedWebhook & { caller: AuditCaller },
): Promise<void> {
  const { id, name, env } = await findPermittedWebhook(deps, named, 'admin');
  await deps.store.transaction().execute(async (work) => {
    if (!(await removeWebhook(work, id))) throw notFound('webhook');
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${id} ${name}`, env }));
  });
}

/**
 * Replaces the secret of a webhook; only the answer contains the new one, and the previous one also signs for a day.
 * Throws 404 and 403.
 */
export async function rotateSecret(
  deps: WebhookDependencies,
  { caller, ...named }: NamedWebhook & { caller: AuditCaller },
): Promise<{ secret: string; previous_until: string }> {
  const { id, name, env } = await findPermittedWebhook(deps, named, 'admin');
  const secret = newWebhookSecret();
  const previous_until = deps.clock() + OVERLAP_MS;
  const sealed_secret = deps.sealer.seal(sealedNames(id).secret, secret);
  await deps.store.transaction().execute(async (work) => {
    if (!(await rotateWebhookSecret(work, id, { sealed_secret, previous_until }))) throw notFound('webhook');
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${id} ${name}`, env }));
  });
  return { secret, previous_until: toTime(previous_until) };
}

/** The reason why a webhook cannot use the address in a URL; a name is checked when it is resolved. */
function addressFault({ settings }: WebhookDependencies, url: URL): string | null {
  const policy = policyFor(url, settings.webhooks.private_addresses);
  if (isAllowedHost(url, policy)) return null;
  const isPrivate = isAllowedHost(url, { ...policy, allowsPrivate: true });
  return isPrivate ? 'it has a private address, which needs webhooks.private_addresses' : 'it has a forbidden address';
}

function rowOf(
  { sealer, clock }: WebhookDependencies,
  { name, env, events, format, brief, url }: WebhookFields,
  { secret, actor }: { secret: string; actor: string },
): WebhookRow {
  const id = randomUUID();
  const names = sealedNames(id);
  const sealed = { sealed_url: sealer.seal(names.url, url), sealed_secret: sealer.seal(names.secret, secret) };
  return {
    ...{ id, name, env, format, ...sealed },
    events: JSON.stringify([...new Set(events)]),
    brief: brief === true ? 1 : 0,
    origin: new URL(url).origin,
    sealed_previous_secret: null,
    previous_until: null,
    created_at: clock(),
    created_by: actor,
    claimed_until: 0,
    paused_until: 0,
    failures: 0,
    error: null,
  };
}

function refusal(status: number, code: string, message: string): ApiError {
  return new ApiError({ status, code, message });
}

/** A webhook's row as the API returns it. */
function webhookView(row: WebhookRow, counts: DeliveryCounts): Webhook {
  const { id, name, env, format, origin, created_by, failures, error } = row;
  const events = JSON.parse(row.events) as EventType[];
  const created_at = toTime(row.created_at);
  const brief = row.brief === 1;
  return { id, name, env, events, format, brief, origin, created_at, created_by, failures, error, ...counts };
}

/** A dead letter's row as the API returns it. */
function deadLetterView(row: WebhookDeliveryRow & { dead_at: number }): DeadLetter {
  const { id, tries, error } = row;
  return { id, event: JSON.parse(row.event) as WebhookEvent, dead_at: toTime(row.dead_at), tries, error };
}

/** A page of the events that could not be delivered to a webhook, newest first; throws 404 and 403. */
export async function listDeadLetters(
  deps: WebhookDependencies,
  { before, limit, ...named }: NamedWebhook & { before?: Place | undefined; limit: number },
): Promise<{ deliveries: DeadLetter[]; last: Place | null }> {
  const { id } = await findPermittedWebhook(deps, named, 'viewer');
  const { items, last } = toPage(await selectDeadLetters(deps.store, id, { before, limit: limit + 1 }), limit);
  return { deliveries: items.map(deadLetterView), last: last && { time: last.dead_at, id: last.id } };
}

/** Tries dead letters of a webhook again, all or one; returns how many. Throws 404 and 403. */
export async function redeliver(
  deps: WebhookDependencies,
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

/** Result of a test. */
interface TestResult {
  delivered: boolean;
  /** Status of the endpoint's answer; null if there is none. */
  status: number | null;
  error: string | null;
}

/**
 * Sends a test to a webhook once, immediately; if it succeeds, the queued events are delivered next. Throws 404 and
 * 403.
 */
export async function testWebhook(
  deps: WebhookDependencies,
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

/** Encrypts the URLs and secrets of all webhooks with another key file; skips what the first one does not decrypt. */
export async function resealWebhooks(work: Store, { from, to }: { from: Sealer; to: Sealer }): Promise<void> {
  const rows = await work.selectFrom('webhooks').selectAll().execute();
  for (const { id, sealed_url, sealed_secret, sealed_previous_secret } of rows) {
    const names = sealedNames(id);
    const again = (name: string, sealed: string) => {
      const text = from.unseal(name, sealed);
      return text === null ? sealed : to.seal(name, text);
    };
    const changed = {
      sealed_url: again(names.url, sealed_url),
      sealed_secret: again(names.secret, sealed_secret),
      sealed_previous_secret: sealed_previous_secret && again(names.secret, sealed_previous_secret),
    };
    await work.updateTable('webhooks').set(changed).where('id', '=', id).execute();
  }
}
