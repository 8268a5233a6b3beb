import type { WebhookEvent } from '../../../protocol/webhooks.ts';
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
  const now = clock();
  const opened = openWebhook(deps, webhook, now);
  if (opened === null) return { error: 'the key file is not the one that encrypted it', status: null, retryAfterS: 0 };
  const { target, secrets } = opened;
  const { url, body } = messageOf(event, { target, format: webhook.format, source: settings.public_url });
  const text = JSON.stringify(body);
  const signed = webhookHeaders({ id, timestamp: Math.floor(now / 1000), body: text }, secrets);
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

/** The URL, and the secret with the one before while that still signs; null if the key file cannot decrypt them. */
function openWebhook(
  { sealer }: Dependencies,
  { id, sealed_url, sealed_secret, sealed_previous_secret: previous, previous_until }: WebhookRow,
  now: number,
): { target: string; secrets: string[] } | null {
  const names = sealedNames(id);
  const isOverlapping = previous !== null && now < (previous_until ?? 0);
  const sealed = [sealed_secret, ...(isOverlapping ? [previous] : [])];
  const target = sealer.unseal(names.url, sealed_url);
  const secrets = sealed.map((each) => sealer.unseal(names.secret, each)).filter((secret) => secret !== null);
  return target === null || secrets.length < sealed.length ? null : { target, secrets };
}
