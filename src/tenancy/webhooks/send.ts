import type { GateQuestion, WebhookEvent } from '../../protocol/webhooks.ts';
import type { Dependencies } from '../core/dependencies.ts';
import { webhookHeaders } from '../keys/tokens.ts';
import type { BundleRow, WebhookRow } from '../store/database.ts';
import { findBundleTrust } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { findSubscribed, queueEvent } from '../store/webhooks.ts';
import { eventOf, type Occurrence } from './event.rules.ts';
import { type EndpointMessage, messageOf } from './message.rules.ts';

/** Queues the event of an occurrence for every webhook that is told of it, in the transaction of what has happened. */
export async function announce(work: Store, occurrence: Occurrence): Promise<void> {
  const { type, env, now } = occurrence;
  const webhooks = await findSubscribed(work, type, env);
  if (webhooks.length > 0) await queueEvent(work, eventOf(occurrence), { webhooks, now });
}

/** Announces that a new bundle awaits signatures, which it has none of, where the hosts of its env demand any. */
export async function announceAwaited(work: Store, bundle: BundleRow): Promise<void> {
  const { env, received_at: now } = bundle;
  if ((await findBundleTrust(work, env)) === null) return;
  await announce(work, { type: 'bundle.awaiting_signature', now, env, bundle });
}

/** What became of one try. */
export interface Attempt {
  /** Null if the endpoint has taken the message. */
  error: string | null;
  /** Of the answer; null without one. */
  status: number | null;
  /** What the endpoint asks for. */
  retryAfterS: number;
  /** What was read of the body of the answer. */
  body: string;
}

/** Bytes of an answer at a gate. */
const ANSWER_BYTES = 4096;

/** Sends an event to a webhook once, signed by its secrets; the error of the attempt names no address. */
export function sendEvent(
  deps: Dependencies,
  webhook: WebhookRow,
  { id, event, signal }: { id: string; event: WebhookEvent; signal: AbortSignal },
): Promise<Attempt> {
  const form = { format: webhook.format, source: deps.settings.public_url };
  const messageTo = (target: string) => messageOf(event, { target, ...form });
  return send(deps, webhook, { id, messageTo, answerBytes: 0, signal });
}

/** As `sendEvent` with the question of a gate; the answer is in the body of the attempt. */
export function sendQuestion(
  deps: Dependencies,
  webhook: WebhookRow,
  { id, question, signal }: { id: string; question: GateQuestion; signal: AbortSignal },
): Promise<Attempt> {
  const messageTo = (target: string) => ({ url: new URL(target), body: question });
  return send(deps, webhook, { id, messageTo, answerBytes: ANSWER_BYTES, signal });
}

/** A message, how much of its answer is read, and until when. */
interface Sending {
  id: string;
  messageTo: (target: string) => EndpointMessage;
  answerBytes: number;
  signal: AbortSignal;
}

async function send(
  deps: Dependencies,
  webhook: WebhookRow,
  { id, messageTo, answerBytes, signal }: Sending,
): Promise<Attempt> {
  const now = deps.clock();
  const opened = openWebhook(deps, webhook, now);
  if (opened === null) return unanswered('the key file is not the one that encrypted it');
  const { url, body } = messageTo(opened.target);
  const text = JSON.stringify(body);
  const signed = webhookHeaders({ id, timestamp: Math.floor(now / 1000), body: text }, opened.secrets);
  const userAgent = { 'user-agent': `deployd-tenancy/${deps.version}` };
  const headers = { 'content-type': 'application/json', ...userAgent, ...signed };
  const answer = await deps.postWebhook({ url, headers, body: text, answerBytes, signal });
  if (answer.status === null) return unanswered(formatUnreached(answer.code));
  const { status, retryAfterS } = answer;
  const error = status >= 200 && status < 300 ? null : `the endpoint answered ${status}`;
  return { error, status, retryAfterS: retryAfterS ?? 0, body: answer.body };
}

function unanswered(error: string): Attempt {
  return { error, status: null, retryAfterS: 0, body: '' };
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

/** The names under which the parts of a webhook are sealed. */
export function sealedNames(id: string): { url: string; secret: string } {
  return { url: `URL of the webhook ${id}`, secret: `secret of the webhook ${id}` };
}
