import type { Backend, BackendDetails, ReceivedReport } from './api/types.ts';

/** How far backends are with what is desired of them. */
export interface Convergence {
  applied: Backend[];
  waiting: Backend[];
}

/** Sorts backends by their convergence. */
export function convergenceOf(backends: Backend[]): Convergence {
  const hasApplied = ({ applied_sha, desired_sha }: Backend) => applied_sha === desired_sha;
  return { applied: backends.filter(hasApplied), waiting: backends.filter((backend) => !hasApplied(backend)) };
}

/** `2 of 3 backends have applied 0123456789ab`: the digest only where all desire the same. */
export function formatConvergence({ applied, waiting }: Convergence, name: (sha: string | null) => string): string {
  const all = [...applied, ...waiting];
  if (all.length === 0) return 'no backend is active';
  const desired = new Set(all.map(({ desired_sha }) => desired_sha));
  const what = desired.size === 1 ? name([...desired][0] ?? null) : 'what is desired of them';
  return `${applied.length} of ${all.length} backends have applied ${what}`;
}

/** The report by which a host refuses what is desired of it; a refusal from before the wait may be over. */
export function refusalOf(
  { last_report: report, desired_sha }: BackendDetails,
  oldReports: ReadonlySet<string>,
): ReceivedReport | null {
  if (report === null || oldReports.has(report.report_id)) return null;
  return report.outcome === 'refused' && report.desired_sha === desired_sha ? report : null;
}
