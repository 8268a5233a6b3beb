import { randomUUID } from 'node:crypto';
import type { EventType, WebhookFormat } from '../../../protocol/webhooks.ts';
import { isAllowedHost, policyFor } from '../../adapters/webhooks/addressPolicy.ts';
import { newWebhookSecret } from '../../credentials/webhookSecret.ts';
import { visibleEnvs } from '../../rules/permission.ts';
import { targetFault } from '../../rules/webhooks/target.ts';
import { addAuditEntry } from '../../store/audit.ts';
import type { Role, WebhookRow } from '../../store/database.ts';
import { lockEnv } from '../../store/envs.ts';
import { countDeliveries } from '../../store/webhookDeliveries.ts';
import {
  countWebhooks,
  deleteWebhook as removeWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks as selectWebhooks,
  rotateWebhookSecret,
} from '../../store/webhooks.ts';
import { ApiError, notFound } from '../apiError.ts';
import { auditEntry } from '../audit.ts';
import { toTime } from '../backendViews.ts';
import type { Dependencies } from '../dependencies.ts';
import type { AuditCaller, Operator } from '../operator.ts';
import { toPage } from '../page.ts';
import { requirePermission } from '../requirePermission.ts';
import { sealedNames } from './sealedNames.ts';
import { webhookView, type WebhookView } from './webhookViews.ts';

/** Webhooks of an env, or for all envs, at most. */
const MAX_WEBHOOKS = 50;
/** Milliseconds in which the secret before a rotation also signs. */
export const OVERLAP_MS = 24 * 3600_000;

/** A webhook that an operator names. */
export interface NamedWebhook {
  operator: Operator;
  id: string;
}

/** The row of a webhook; throws 404, and 403 if the operator's token is not of this role for its env, or for all. */
export async function findPermittedWebhook(
  { store }: Pick<Dependencies, 'store'>,
  { operator, id }: NamedWebhook,
  role: Role,
): Promise<WebhookRow> {
  const row = await findWebhook(store, id);
  if (row === null) throw notFound('webhook');
  requirePermission(operator, { role, env: row.env ?? { every: true } });
  return row;
}

/** A page of webhooks by id: of an env, else of all that the operator may see. */
export async function listWebhooks(
  { store }: Dependencies,
  { operator, env, after, limit }: { operator: Operator; env?: string; after?: string; limit: number },
): Promise<{ webhooks: WebhookView[]; next: string | null }> {
  const envs = env === undefined ? visibleEnvs(operator.permissions) : [env];
  const { items, last } = toPage(await selectWebhooks(store, { envs, after, limit: limit + 1 }), limit);
  const countsOf = await countDeliveries(
    store,
    items.map(({ id }) => id),
  );
  return { webhooks: items.map((row) => webhookView(row, countsOf(row.id))), next: last?.id ?? null };
}

/** What is said of a new webhook. */
export interface WebhookFields {
  name: string;
  /** Null for all envs. */
  env: string | null;
  events: EventType[];
  format: WebhookFormat;
  url: string;
}

/**
 * Creates a webhook; its secret is in the answer only. Throws 403 for one of all envs by a token of some, 404 without its env,
 * 409 `WEBHOOK_LIMIT`, and 422: `WEBHOOK_INVALID` for one that is told nothing and that no gate can ask, `WEBHOOK_URL_INVALID`.
 */
export async function createWebhook(
  deps: Dependencies,
  { operator, caller, fields }: { operator: Operator; caller: AuditCaller; fields: WebhookFields },
): Promise<WebhookView & { secret: string }> {
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

/** Deletes a webhook with what was still to be delivered to it; throws 404 and 403. */
export async function deleteWebhook(
  deps: Dependencies,
  { caller, ...named }: NamedWebhook & { caller: AuditCaller },
): Promise<void> {
  const { id, name, env } = await findPermittedWebhook(deps, named, 'admin');
  await deps.store.transaction().execute(async (work) => {
    if (!(await removeWebhook(work, id))) throw notFound('webhook');
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${id} ${name}`, env }));
  });
}

/** Gives a webhook another secret, which is in the answer only; the one before also signs for a day. Throws 404 and 403. */
export async function rotateSecret(
  deps: Dependencies,
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

/** Why a webhook cannot go to the address in a URL; a name is judged when it is resolved. */
function addressFault({ settings }: Dependencies, url: URL): string | null {
  const policy = policyFor(url, settings.webhooks.private_addresses);
  if (isAllowedHost(url, policy)) return null;
  const isPrivate = isAllowedHost(url, { ...policy, allowsPrivate: true });
  return isPrivate ? 'it has a private address, which needs webhooks.private_addresses' : 'it has a forbidden address';
}

function rowOf(
  { sealer, clock }: Dependencies,
  { name, env, events, format, url }: WebhookFields,
  { secret, actor }: { secret: string; actor: string },
): WebhookRow {
  const id = randomUUID();
  const names = sealedNames(id);
  const sealed = { sealed_url: sealer.seal(names.url, url), sealed_secret: sealer.seal(names.secret, secret) };
  return {
    ...{ id, name, env, format, ...sealed },
    events: JSON.stringify([...new Set(events)]),
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
