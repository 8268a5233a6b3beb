import type { Report } from '../../../api/report.rules.ts';

const MAX_PENDING_REPORTS = 20;

/**
 * The outbox with one more report, which replaces an earlier one with its id. Keeps the newest 20, oldest first (spec §10.3).
 */
export function enqueueReport(outbox: Report[], report: Report): Report[] {
  const others = outbox.filter(({ report_id }) => report_id !== report.report_id);
  return [...others, report].slice(-MAX_PENDING_REPORTS);
}
