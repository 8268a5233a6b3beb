import type { EventType, WebhookEvent, WebhookFormat } from '../../../protocol/webhooks.ts';
import type { WebhookDeliveryRow, WebhookRow } from '../../store/database.ts';
import type { DeliveryCounts } from '../../store/webhookDeliveries.ts';
import { toTime } from '../backendViews.ts';

/** A webhook as the API returns it; its URL and its secrets are never told. Times are RFC 3339. */
export interface WebhookView extends DeliveryCounts {
  id: string;
  name: string;
  /** Null for all envs. */
  env: string | null;
  events: EventType[];
  format: WebhookFormat;
  origin: string;
  created_at: string;
  created_by: string;
  /** How often its endpoint has failed since it last took something. */
  failures: number;
  error: string | null;
}

/** An event that could not be delivered. */
export interface DeadLetterView {
  id: string;
  event: WebhookEvent;
  dead_at: string;
  tries: number;
  error: string | null;
}

/** A webhook's row as the API returns it. */
export function webhookView(row: WebhookRow, counts: DeliveryCounts): WebhookView {
  const { id, name, env, format, origin, created_by, failures, error } = row;
  const events = JSON.parse(row.events) as EventType[];
  const created_at = toTime(row.created_at);
  return { id, name, env, events, format, origin, created_at, created_by, failures, error, ...counts };
}

/** A dead letter's row as the API returns it. */
export function deadLetterView(row: WebhookDeliveryRow & { dead_at: number }): DeadLetterView {
  const { id, tries, error } = row;
  return { id, event: JSON.parse(row.event) as WebhookEvent, dead_at: toTime(row.dead_at), tries, error };
}
