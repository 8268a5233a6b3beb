import type { Backend, ReceivedReport } from './api/types.ts';

/** How far backends are with what is desired of them. */
export interface Convergence {
  applied: Backend[];
  waiting: Backend[];
  /** Those whose host has refused what is desired since the wait began: waiting on helps nothing. */
  refused: (Backend & { last_report: ReceivedReport })[];
}

/** Sorts backends by their convergence; `oldReports` are ids of reports from before the wait. */
export function convergenceOf(backends: Backend[], oldReports: ReadonlySet<string>): Convergence {
  const applied = backends.filter(({ applied_sha, desired_sha }) => applied_sha === desired_sha);
  const waiting = backends.filter((backend) => !applied.includes(backend));
  return { applied, waiting, refused: waiting.filter(hasRefused(oldReports)) };
}

/** `2 of 3 backends have applied 0123456789ab`: the digest only where all desire the same. */
export function formatConvergence({ applied, waiting }: Convergence, name: (sha: string | null) => string): string {
  const all = [...applied, ...waiting];
  if (all.length === 0) return 'no backend is active';
  const desired = new Set(all.map(({ desired_sha }) => desired_sha));
  const what = desired.size === 1 ? name([...desired][0] ?? null) : 'what is desired of them';
  return `${applied.length} of ${all.length} backends have applied ${what}`;
}

function hasRefused(oldReports: ReadonlySet<string>) {
  return (backend: Backend): backend is Backend & { last_report: ReceivedReport } => {
    const { last_report: report, desired_sha } = backend;
    if (report === null || oldReports.has(report.report_id)) return false;
    return report.outcome === 'refused' && report.desired_sha === desired_sha;
  };
}
