import { Fault } from '../../../../machines/fault.ts';
import type { Report } from '../../../protocol/report.ts';
import type { Tools } from '../tools.ts';

/** Delivers the outbox, oldest first, then this tick's heartbeat. What cannot be delivered now stays (spec §10). */
export async function deliverReports(tools: Tools, _input: void, signal: AbortSignal): Promise<void> {
  const { state, tick } = tools;
  for (const report of state.state.pending_reports) {
    const end = await deliver(tools, report, signal);
    if (end === 'unreachable') return;
    if (end === 'refused') continue;
    await state.update({ pending_reports: state.state.pending_reports.filter((each) => each !== report) });
  }
  if (tick.heartbeat === null) return;
  if ((await deliver(tools, tick.heartbeat, signal)) === 'settled') tick.journal.info('healthy; heartbeat reported');
  tick.heartbeat = null;
}

/** `settled`: off the outbox; `refused`: this one stays, others may get through; `unreachable`: none will now. */
type End = 'settled' | 'refused' | 'unreachable';

async function deliver({ tenancy, tick }: Tools, report: Report, signal: AbortSignal): Promise<End> {
  try {
    if ((await tenancy.report(report, signal)) === 'delivered') return 'settled';
    tick.journal.warn(`report ${report.report_id} (${report.outcome}) was rejected for good and is dropped`);
    return report.outcome === 'heartbeat' ? 'refused' : 'settled';
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const later = report.outcome === 'heartbeat' ? 'not kept' : 'kept for the next tick';
    tick.journal.warn(`report (${report.outcome}) not delivered, ${later}: ${error.message}`);
    return error.ending === 'failed' ? 'refused' : 'unreachable';
  }
}
