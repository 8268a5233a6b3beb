import type { ReportOutcome } from '../../../../machines/endings.ts';
import type { HostOutcome } from '../../store/rolloutTable.ts';

/** What a check-in tells of the bundle of a rollout. */
export interface CheckInFacts {
  appliedSha: string | null;
  healthy: boolean;
}

/** The outcome of a host after a check-in. What is not healthy now may heal within the tick; else a report tells so. */
export function outcomeAfterCheckIn(
  outcome: HostOutcome,
  { appliedSha, healthy }: CheckInFacts,
  sha: string,
): HostOutcome {
  if (appliedSha === sha) return healthy ? 'succeeded' : outcome;
  return outcome === 'succeeded' ? 'waiting' : outcome;
}

/** What a report tells of the bundle of a rollout. */
export interface ReportFacts {
  outcome: ReportOutcome;
  desiredSha: string | null;
  appliedSha: string | null;
}

const failures: readonly ReportOutcome[] = ['refused', 'failed', 'unhealthy'];

/** The outcome of a host after a report; one that tells of another bundle, or of none, changes nothing. */
export function outcomeAfterReport(outcome: HostOutcome, report: ReportFacts, sha: string): HostOutcome {
  if (report.outcome === 'applied' && report.appliedSha === sha) return 'succeeded';
  const hasFailed = failures.includes(report.outcome) && report.desiredSha === sha;
  return hasFailed && outcome !== 'excused' ? 'failed' : outcome;
}
