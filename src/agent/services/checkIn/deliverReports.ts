import { Fault } from '../../../../machines/fault.ts';
import { isDeferralReason, type Report } from '../../../api/report.rules.ts';
import type { Dependencies } from '../dependencies.ts';

/** Delivers the queued reports, oldest first, then this tick's heartbeat; undelivered reports stay queued (spec §10). */
export async function deliverReports(deps: Dependencies, _input: void, signal: AbortSignal): Promise<void> {
  const { state, tick } = deps;
  for (const report of state.state.pending_reports) {
    const delivery = await deliver(deps, report, signal);
    if (delivery === 'unreachable') return;
    if (delivery === 'refused') continue;
    await state.update({ pending_reports: state.state.pending_reports.filter((each) => each !== report) });
  }
  if (tick.heartbeat === null) return;
  const isDelivered = (await deliver(deps, tick.heartbeat, signal)) === 'settled';
  if (isDelivered && !isDeferralReason(tick.heartbeat.reason)) tick.journal.info('healthy; heartbeat reported');
  tick.heartbeat = null;
}

/** `settled`: remove from the queue; `refused`: keep it and try the next; `unreachable`: stop delivering. */
type Delivery = 'settled' | 'refused' | 'unreachable';

async function deliver({ tenancy, tick }: Dependencies, report: Report, signal: AbortSignal): Promise<Delivery> {
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
