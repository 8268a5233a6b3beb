import type { WebhookEvent } from '../../../protocol/webhooks.ts';
import { sentenceOf } from './sentence.ts';

type Type = WebhookEvent['type'];

/** How bad each event is; null for one that resolves the incident of its subject. */
const severities: Record<Type, 'error' | 'warning' | 'info' | null> = {
  'backend.refused': 'error',
  'backend.failed': 'error',
  'backend.unhealthy': 'error',
  'backend.recovered': null,
  'backend.offline': 'warning',
  'backend.back': null,
  'rollout.halted': 'error',
  'rollout.resumed': null,
  'rollout.aborted': null,
  'bundle.awaiting_signature': 'info',
  'webhook.test': 'info',
};

/** Longest summary that PagerDuty takes, in characters. */
const MAX_SUMMARY = 1024;

/** An event for the Events API v2 of PagerDuty: one incident for each subject, resolved when it is well again. */
export function pagerDutyBody(
  event: WebhookEvent,
  { routingKey, source }: { routingKey: string; source: string },
): object {
  const { type, timestamp, data } = event;
  const severity = severities[type];
  const base = { routing_key: routingKey, dedup_key: `deployd/${subjectOf(event)}` };
  if (severity === null) return { ...base, event_action: 'resolve' };
  const summary = sentenceOf(event).slice(0, MAX_SUMMARY);
  const grouping = { class: type, ...(data.env !== null && { group: data.env }) };
  const payload = { summary, source, severity, timestamp, ...grouping, custom_details: data };
  return { ...base, event_action: 'trigger', client: 'deployd', payload };
}

/** What an incident is about. The health of a backend and its silence are two. */
function subjectOf({ type, data: { backend, bundle, rollout } }: WebhookEvent): string {
  if (backend !== null) {
    const isPresence = type === 'backend.offline' || type === 'backend.back';
    return `backend/${backend.id}/${isPresence ? 'presence' : 'health'}`;
  }
  if (rollout !== null) return `rollout/${rollout.id}`;
  return bundle === null ? 'test' : `bundle/${bundle.sha256}`;
}
