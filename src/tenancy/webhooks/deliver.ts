import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { GateQuestion, WebhookEvent } from '../../api/webhooks.rules.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import type { LogLine } from '../core/log.ts';
import type { Sealer } from '../keys/keyRing.ts';
import type { PostWebhook } from '../peers/postWebhook.ts';
import { certificateCure, type Untrusted } from '../../core/untrusted.rules.ts';
import type { BundleRow, WebhookDeliveryRow, WebhookRow } from '../store/database.ts';
import { findBundleTrust } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import {
  buryDeliveries,
  claimWebhook,
  deleteDeadLetters,
  deleteMarks,
  findDueDeliveries,
  findDueDelivery,
  findDueWebhooks,
  findMarks,
  findSubscribed,
  findWebhook,
  listWaiting,
  postponeDelivery,
  queueEvent,
  releaseWebhook,
  removeDelivery,
  setMark,
  updateWebhook,
  type WebhookBounds,
} from '../store/webhooks.ts';
import {
  eventOf,
  FLAP_MS,
  isRefusal,
  kindOf,
  type Occurrence,
  planDelivery,
  retryDelayMs,
  withoutExcerpt,
} from './event.rules.ts';
import { type EndpointMessage, messageOf } from './message.rules.ts';

/** Dependencies for sending a message to a webhook. */
export interface SendDependencies {
  readonly version: string;
  readonly postWebhook: PostWebhook;
  /** Decrypts the secret of a webhook. */
  readonly sealer: Sealer;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Dependencies for sending an event, which contains a link to the service. */
export interface EventDependencies extends SendDependencies {
  readonly settings: TenancySettings;
}

/** Dependencies for delivering queued events. */
interface DeliveryDependencies extends EventDependencies {
  readonly store: Store;
  readonly log: LogLine;
}

/** Number of webhooks to which one instance delivers concurrently. */
const WEBHOOKS_AT_ONCE = 50;
/** Milliseconds for which an instance claims a webhook. If the instance dies, another one takes over. */
const CLAIM_MS = 120_000;
/** Milliseconds after the claim in which a delivery may start: a delivery takes a minute at most. */
const BEGIN_WITHIN_MS = 50_000;
/** Milliseconds between two searches for newly due webhooks during deliveries. */
const LOOK_EVERY_MS = 1000;
const DAY_MS = 24 * 3600_000;
/** Number of dead letters to delete in one transaction. */
const LETTERS_AT_ONCE = 1000;

/**
 * Delivers due events: to each webhook one after the other, and to all webhooks concurrently, so that none delays
 * another. Environments take turns; the events of a host keep their order. Ends when nothing is due.
 */
export async function deliverWebhooks(deps: DeliveryDependencies, signal: AbortSignal): Promise<void> {
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

/** Deletes dead letters that are older than `webhooks.keep_dead_days`, and marks of events that are not repeats. */
export async function removeOldDeadLetters({ store, settings, clock }: DeliveryDependencies): Promise<void> {
  const before = clock() - settings.webhooks.keep_dead_days * DAY_MS;
  while ((await deleteDeadLetters(store, before, LETTERS_AT_ONCE)) === LETTERS_AT_ONCE);
  await deleteMarks(store, clock() - FLAP_MS);
}

function boundsOf({ clock, settings }: DeliveryDependencies): WebhookBounds {
  return { now: clock(), claimMs: CLAIM_MS, pauseMs: Math.max(settings.webhooks.longest_retry_s * 1000, FLAP_MS) };
}

async function deliverTo(deps: DeliveryDependencies, id: string, signal: AbortSignal): Promise<void> {
  const { store, clock } = deps;
  const { now, claimMs, pauseMs } = boundsOf(deps);
  const claimed = await claimWebhook(store, id, { now, claimMs });
  if (claimed === null) return;
  try {
    const bounds = () => ({ now: clock(), longestMs: pauseMs });
    for (;;) {
      const round = await findDueDeliveries(store, id, bounds());
      for (const each of round) {
        if (signal.aborted || clock() >= now + BEGIN_WITHIN_MS) return;
        // Read both rows again: the webhook may have another secret, and the delivery may have been replaced.
        const [webhook, delivery] = [await findWebhook(store, id), await findDueDelivery(store, each, bounds())];
        if (webhook === null) return;
        if (delivery !== null && !(await deliver(deps, { webhook, delivery }, signal))) return;
      }
      if (round.length === 0) return;
    }
  } finally {
    await releaseWebhook(store, claimed);
  }
}

/** A webhook and a delivery to it. */
interface Delivery {
  webhook: WebhookRow;
  delivery: WebhookDeliveryRow;
}

/** Attempts one delivery; returns false if the endpoint must be paused. */
async function deliver(
  deps: DeliveryDependencies,
  { webhook, delivery }: Delivery,
  signal: AbortSignal,
): Promise<boolean> {
  const event = JSON.parse(delivery.event) as WebhookEvent;
  const { error, ...answer } = await sendEvent(deps, webhook, { id: delivery.id, event, signal });
  // The service is stopping, so this is not a failure of the endpoint.
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

/**
 * Postpones a refused message, or all deliveries to a failing endpoint; deliveries that have waited for too long become
 * dead letters.
 */
async function keepFailure(
  { store, settings, clock, log }: DeliveryDependencies,
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
    // After a failure the endpoint gets them in the original order.
    await postponeDelivery(work, delivery.id, { error, dueAt: isAlone ? now + pauseMs : delivery.due_at });
    await updateWebhook(work, webhook.id, { failures, error, paused_until: isAlone ? 0 : now + pauseMs });
    const one = isAlone ? { id: delivery.id } : {};
    await buryDeliveries(work, webhook.id, { ...one, queuedBefore, error, now });
  });
  return isAlone;
}

/** Queues the event of an occurrence for every subscribed webhook, in the transaction of the change. */
export async function announce(work: Store, occurrence: Occurrence): Promise<void> {
  const { type, env, now } = occurrence;
  const webhooks = await findSubscribed(work, type, env);
  if (webhooks.length === 0) return;
  const event = eventOf(occurrence);
  const subject = occurrence.backend?.id ?? '';
  const dues =
    subject === '' ? new Map(webhooks.map((id) => [id, now])) : await coalesce(work, event, { webhooks, subject, now });
  await queueEvent(work, event, { dues, env, subject, now });
}

/** Removes the waiting events that an event of a host replaces; returns when each webhook gets the event. */
async function coalesce(
  work: Store,
  event: WebhookEvent,
  { webhooks, subject, now }: { webhooks: readonly string[]; subject: string; now: number },
): Promise<Map<string, number>> {
  const kind = kindOf(event);
  const marks = await findMarks(work, subject, kind);
  const rows = (await listWaiting(work, subject)).map((row) => ({
    ...row,
    event: JSON.parse(row.event) as WebhookEvent,
  }));
  const dues = new Map<string, number>();
  for (const webhook_id of webhooks) {
    const waiting = rows.filter((row) => row.webhook_id === webhook_id);
    const { dueAt, replaced } = planDelivery(event, { waiting, announcedAt: marks.get(webhook_id) ?? null, now });
    for (const id of replaced) await removeDelivery(work, id);
    if (dueAt === null) continue;
    dues.set(webhook_id, dueAt);
    await setMark(work, { webhook_id, subject, kind, announced_at: dueAt });
  }
  return dues;
}

/** Announces a new bundle without signatures, if the hosts of its environment require any. */
export async function announceAwaited(work: Store, bundle: BundleRow): Promise<void> {
  const { env, received_at: now } = bundle;
  if ((await findBundleTrust(work, env)) === null) return;
  await announce(work, { type: 'bundle.awaiting_signature', now, env, bundle });
}

/** Result of one attempt. */
interface Attempt {
  /** Null if the endpoint has accepted the message. */
  error: string | null;
  /** Status of the answer; null if there is none. */
  status: number | null;
  /** Seconds that the endpoint asks to wait. */
  retryAfterS: number;
  /** The part of the answer's body that was read. */
  body: string;
}

/** Number of bytes to read of an answer at a gate. */
const ANSWER_BYTES = 4096;

/** Sends an event to a webhook once, signed with its secrets; the error of the attempt contains no address. */
export function sendEvent(
  deps: EventDependencies,
  webhook: WebhookRow,
  { id, event, signal }: { id: string; event: WebhookEvent; signal: AbortSignal },
): Promise<Attempt> {
  const form = { format: webhook.format, source: deps.settings.public_url };
  const sent = webhook.brief === 1 ? withoutExcerpt(event) : event;
  const messageTo = (target: string) => messageOf(sent, { target, ...form });
  return send(deps, webhook, { id, messageTo, answerBytes: 0, signal });
}

/** Like `sendEvent`, for the question of a gate; the attempt contains the body of the answer. */
export function sendQuestion(
  deps: SendDependencies,
  webhook: WebhookRow,
  { id, question, signal }: { id: string; question: GateQuestion; signal: AbortSignal },
): Promise<Attempt> {
  const messageTo = (target: string) => ({ url: new URL(target), body: question });
  return send(deps, webhook, { id, messageTo, answerBytes: ANSWER_BYTES, signal });
}

/** A message, the number of bytes to read of its answer, and the time limit. */
interface Sending {
  id: string;
  messageTo: (target: string) => EndpointMessage;
  answerBytes: number;
  signal: AbortSignal;
}

async function send(
  deps: SendDependencies,
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
  if (answer.status === null) return unanswered(formatUnreached(answer.code, answer.untrusted));
  const { status, retryAfterS } = answer;
  const error = status >= 200 && status < 300 ? null : `the endpoint answered ${status}`;
  return { error, status, retryAfterS: retryAfterS ?? 0, body: answer.body };
}

function unanswered(error: string): Attempt {
  return { error, status: null, retryAfterS: 0, body: '' };
}

function formatUnreached(code: string, untrusted?: Untrusted): string {
  if (untrusted)
    return `the endpoint cannot be reached: ${untrusted.problem}: ${certificateCure(untrusted, 'webhooks.ca')}`;
  return code === 'ADDRESS_FORBIDDEN'
    ? `the endpoint has a forbidden address (${code}): private ones need webhooks.private_addresses`
    : `the endpoint cannot be reached (${code})`;
}

/**
 * The URL, and the current secret with the previous one while that still signs; null if the key file cannot decrypt
 * them.
 */
function openWebhook(
  { sealer }: SendDependencies,
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

/** Bytes of a secret; the scheme allows 24 to 64. */
const SECRET_BYTES = 32;

const PREFIX = 'whsec_';

/** A new secret of a webhook in the form of Standard Webhooks; it is shown once. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** The signed data of a webhook: the id of the message, seconds since 1970, and the exact body. */
interface SignedMessage {
  id: string;
  timestamp: number;
  body: string;
}

/** The headers with which a receiver verifies a message (Standard Webhooks 1.0.0), with a signature for each secret. */
export function webhookHeaders(
  { id, timestamp, body }: SignedMessage,
  secrets: readonly string[],
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
