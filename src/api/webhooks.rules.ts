import type { HaltReason } from '../../machines/rollout.ts';

/** The types of events that operators can be notified of. */
export const eventTypes = [
  'backend.refused',
  'backend.failed',
  'backend.unhealthy',
  'backend.recovered',
  'backend.offline',
  'backend.back',
  'backend.cloned',
  'backend.accepted',
  'backend.changed',
  'backend.differs',
  'rollout.started',
  'rollout.wave_passed',
  'rollout.waiting',
  'rollout.halted',
  'rollout.resumed',
  'rollout.approval_needed',
  'rollout.done',
  'rollout.aborted',
  'bundle.awaiting_signature',
  'env.held',
  'env.released',
] as const;
export type EventType = (typeof eventTypes)[number];

/** The forms in which an event can be sent: our own JSON, and what chat and paging tools take. */
export const webhookFormats = ['standard', 'slack', 'teams', 'pagerduty'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/**
 * The body of a webhook of the format `standard`. Fields that do not apply to an event are null. Names come from
 * operators and hosts.
 */
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
    /**
     * Code of the refusal or the failure; `RETIRED` where trouble or silence ends because the backend retires;
     * `REBOOTED` or `MOVED` (to another machine) of a host that has changed.
     */
    code: string | null;
    /** Services that failed with their states, and the cause in words of this service; null if a host reported neither. */
    reason: string | null;
    /**
     * The beginning of the detail of a failed report, and the last lines of its output: words of the host, which may
     * contain anything that programs print there. Events that an earlier version has queued lack them.
     */
    detail?: string | null;
    output?: string | null;
    /** A rollout, the number of backends that have failed in it, and what has halted it; null unless it is halted. */
    rollout: ({ id: string; failures: number; halted_by: HaltReason | null } & Partial<WaveFacts>) | null;
  };
}

/** The current wave of a rollout in events; events that an earlier version has queued lack it. */
export interface WaveFacts {
  /** The number of the wave, from 1; 0 before the first one. */
  wave: number;
  waves: number;
  /** Backends for which the wave waits. */
  awaited: number;
  /** Backends whose failure is ignored until they succeed, in all waves. */
  excused: number;
}

/** The question of a gate to the webhook that a rollout names: may it continue after the success of a wave? */
export interface GateQuestion {
  type: 'rollout.gate';
  /** When the gate was reached, RFC 3339. */
  timestamp: string;
  data: {
    env: string;
    bundle: NonNullable<WebhookEvent['data']['bundle']> | null;
    /** The wave is counted from 1; failures are backends that have failed in any wave. */
    rollout: { id: string; wave: number; waves: number; failures: number };
  };
}

/** The answer to it, as JSON. */
export interface GateAnswer {
  /** False halts the rollout. */
  pass: boolean;
  /** Shown to operators, in one line. */
  reason?: string;
}
