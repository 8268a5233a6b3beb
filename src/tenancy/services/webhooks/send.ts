import type { WebhookEvent } from '../../../protocol/webhooks.ts';
import { KeyError } from '../../credentials/keyError.ts';
import { webhookHeaders } from '../../credentials/webhookSecret.ts';
import { messageOf } from '../../rules/webhooks/messageBody.ts';
import type { WebhookRow } from '../../store/database.ts';
import type { Dependencies } from '../dependencies.ts';
import { sealedNames } from './sealedNames.ts';

/** What became of one try. */
export interface Attempt {
  /** Null if the endpoint has taken the message. */
  error: string | null;
  /** Of the answer; null without one. */
  status: number | null;
  /** What the endpoint asks for. */
  retryAfterS: number;
}

/** Sends an event to a webhook once, signed by its secrets; the error of the attempt names no address. */
export async function sendEvent(
  deps: Dependencies,
  webhook: WebhookRow,
  { id, event, signal }: { id: string; event: WebhookEvent; signal: AbortSignal },
): Promise<Attempt> {
  const { settings, clock, version } = deps;
  const names = sealedNames(webhook.id);
  const now = clock();
  const target = openSealed(deps, names.url, webhook.sealed_url);
  const { url, body } = messageOf(event, { target, format: webhook.format, source: settings.public_url });
  const text = JSON.stringify(body);
  const signed = webhookHeaders({ id, timestamp: Math.floor(now / 1000), body: text }, secretsOf(deps, webhook, now));
  const headers = { 'content-type': 'application/json', 'user-agent': `deployd-tenancy/${version}`, ...signed };
  const answer = await deps.postWebhook({ url, headers, body: text, signal });
  if (answer.status === null) return { error: formatUnreached(answer.code), status: null, retryAfterS: 0 };
  const { status, retryAfterS } = answer;
  const error = status >= 200 && status < 300 ? null : `the endpoint answered ${status}`;
  return { error, status, retryAfterS: retryAfterS ?? 0 };
}

function formatUnreached(code: string): string {
  return code === 'ADDRESS_FORBIDDEN'
    ? `the endpoint has a forbidden address (${code}): private ones need webhooks.private_addresses`
    : `the endpoint cannot be reached (${code})`;
}

/** The secret, and the one before while it still signs. */
function secretsOf(deps: Dependencies, webhook: WebhookRow, now: number): string[] {
  const { secret } = sealedNames(webhook.id);
  const { sealed_secret, sealed_previous_secret: previous, previous_until } = webhook;
  const isOverlapping = previous !== null && now < (previous_until ?? 0);
  return [sealed_secret, ...(isOverlapping ? [previous] : [])].map((sealed) => openSealed(deps, secret, sealed));
}

function openSealed({ sealer }: Dependencies, name: string, sealed: string): string {
  const text = sealer.unseal(name, sealed);
  if (text === null) throw new KeyError(`the key file is not the one that encrypted the ${name}`);
  return text;
}
