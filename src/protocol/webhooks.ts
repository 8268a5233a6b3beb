/** What operators can be notified of, by the type of the event. */
export const eventTypes = [
  'backend.refused',
  'backend.failed',
  'backend.unhealthy',
  'backend.recovered',
  'backend.offline',
  'backend.back',
  'rollout.halted',
  'rollout.resumed',
  'rollout.aborted',
  'bundle.awaiting_signature',
] as const;
export type EventType = (typeof eventTypes)[number];

/** The forms in which an event can be sent: our own JSON, and what chat and paging tools take. */
export const webhookFormats = ['standard', 'slack', 'teams', 'pagerduty'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** The body of a webhook of the format `standard`. What an event is not about is null. Names come from operators and hosts. */
export interface WebhookEvent {
  /** `webhook.test` for a test. */
  type: EventType | 'webhook.test';
  /** When it happened, RFC 3339. */
  timestamp: string;
  data: {
    /** Null for a test of a webhook of all envs. */
    env: string | null;
    backend: { id: string; site: string; host: string | null } | null;
    /** The bundle that was to run, or that awaits signatures. */
    bundle: { sha256: string; name: string; version: string; sequence: number } | null;
    /** Code of the refusal or the failure; `RETIRED` where trouble or silence ends because the backend retires. */
    code: string | null;
    /** A rollout, and the number of backends that have failed in it. */
    rollout: { id: string; failures: number } | null;
  };
}
