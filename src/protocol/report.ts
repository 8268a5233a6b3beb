import type { ReportWord } from '../../machines/endings.ts';
import type { Container } from '../../machines/words.ts';

/** What the tenancy service is told about a tick (spec §10); times are RFC 3339, UTC. */
export interface Report {
  report_id: string;
  tick_id: string;
  env: string;
  site: string;
  agent_version: string;
  outcome: ReportWord;
  reason: string;
  action: 'apply' | 'none' | 'down';
  desired_sha: string | null;
  applied_sha: string | null;
  reverted: boolean;
  code: string | null;
  detail: string | null;
  /** Last 8 KiB of compose output, redacted. */
  output_tail: string | null;
  containers: Container[];
  started_at: string;
  finished_at: string;
  durations_ms: Record<string, number>;
}

const NEWEST_KEPT = 20;

/** The outbox with one more report in it, in place of an earlier one of its id: the newest 20 stay, oldest first. */
export function enqueued(outbox: Report[], report: Report): Report[] {
  const others = outbox.filter(({ report_id }) => report_id !== report.report_id);
  return [...others, report].slice(-NEWEST_KEPT);
}
