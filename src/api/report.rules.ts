import type { ReportOutcome } from '../../machines/endings.ts';
import type { ReportedContainer } from '../../machines/types.ts';

/** The body of a report about one tick (spec §10). Times are RFC 3339, UTC. */
export interface Report {
  report_id: string;
  tick_id: string;
  env: string;
  site: string;
  agent_version: string;
  outcome: ReportOutcome;
  reason: string;
  action: 'apply' | 'none' | 'down';
  desired_sha: string | null;
  applied_sha: string | null;
  reverted: boolean;
  code: string | null;
  detail: string | null;
  /** The last 8 KiB of compose output, redacted. */
  output_tail: string | null;
  containers: ReportedContainer[];
  started_at: string;
  finished_at: string;
  durations_ms: Record<string, number>;
}

/** True for the reason of a heartbeat from a host that defers what is desired, by a hold or by its windows: it may not be healthy. */
export function isDeferralReason(reason: string): boolean {
  return reason.startsWith('waits:');
}

/** Codes in error bodies of the tenancy service that the agent acts on (spec §10); every other code is only shown. */
export const tenancyErrorCodes = { envMismatch: 'AGENT_ENV_MISMATCH' } as const;
