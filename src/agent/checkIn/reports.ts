import { endings, type ReportOutcome } from '../../../machines/endings.ts';
import { Fault } from '../../../machines/fault.ts';
import type { DesiredState, Outcome, ReportedContainer } from '../../../machines/types.ts';
import { isDeferralReason, type Report } from '../../api/checkIn.rules.ts';
import { enqueueReport, type State } from '../state/state.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Tenancy } from '../transport/tenancy.ts';
import type { RunningTick } from '../journal/journal.ts';

/** Dependencies of creating and delivering a report. */
export interface ReportDependencies {
  readonly settings: Settings;
  readonly version: string;
  readonly state: StateStore;
  readonly tenancy: Tenancy;
  readonly tick: RunningTick;
}

/** Delivers the queued reports, oldest first, then this tick's heartbeat; undelivered reports stay queued (spec §10). */
export async function deliverReports(
  deps: ReportDependencies,
  { heartbeat }: { heartbeat: Report | null },
  signal: AbortSignal,
): Promise<void> {
  const { state, tick } = deps;
  for (const report of state.state.pending_reports) {
    const delivery = await deliver(deps, report, signal);
    if (delivery === 'unreachable') return;
    if (delivery === 'refused') continue;
    await state.update({ pending_reports: state.state.pending_reports.filter((each) => each !== report) });
  }
  if (heartbeat === null) return;
  const isDelivered = (await deliver(deps, heartbeat, signal)) === 'settled';
  if (isDelivered && !isDeferralReason(heartbeat.reason)) tick.journal.info('healthy; heartbeat reported');
}

/** `settled`: remove from the queue; `refused`: keep it and try the next; `unreachable`: stop delivering. */
type Delivery = 'settled' | 'refused' | 'unreachable';

async function deliver({ tenancy, tick }: ReportDependencies, report: Report, signal: AbortSignal): Promise<Delivery> {
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

/** Input of a report; `appliedSha` defaults to the applied sha in the state. */
interface ReportInput {
  outcome: Outcome;
  desired: DesiredState;
  appliedSha?: string;
  containers?: ReportedContainer[];
}

/**
 * The state patch of an outcome: `last_outcome` and the queued report. It is part of the write that causes the outcome,
 * so that no crash separates the two; a later report of the same tick replaces it (spec §10.3).
 */
export function outcomePatch(
  deps: ReportDependencies,
  input: ReportInput,
): Pick<State, 'last_outcome' | 'pending_reports'> {
  const report = reportOf(deps, input);
  const last_outcome = lastOutcomeOf(deps, input.outcome);
  return { last_outcome, pending_reports: enqueueReport(deps.state.state.pending_reports, report) };
}

/** The `last_outcome` of state.json, which `deployd status` shows. */
export function lastOutcomeOf(
  { tick }: ReportDependencies,
  { ending, code, lines }: Outcome,
): NonNullable<State['last_outcome']> {
  const detail = joinLines([...lines, ...tick.journal.remarks]);
  const outcome = ending === 'converged' ? 'heartbeat' : ending;
  return { at: new Date().toISOString(), outcome, code, detail };
}

/** The report of a tick, with the tick's id; a tick sends at most one. */
export function reportOf(
  deps: ReportDependencies,
  { outcome, desired, appliedSha, containers = [] }: ReportInput,
): Report {
  const { settings, state, tick, version } = deps;
  return {
    report_id: tick.id,
    tick_id: tick.id,
    env: settings.env,
    site: settings.site,
    agent_version: version,
    outcome: reportOutcomeOf(outcome.ending) ?? 'failed',
    reason: outcome.reason || desired.reason,
    action: desired.action,
    desired_sha: desired.desiredSha,
    applied_sha: appliedSha ?? state.state.applied_sha,
    reverted: outcome.reverted,
    code: outcome.code,
    detail: joinLines([...outcome.lines, ...tick.journal.remarks, ...tokenErrorLines(state.state)]),
    output_tail: outcome.tail,
    containers,
    ...(outcome.ending === 'applied' && tick.journal.replaced.length > 0 && { replaced: [...tick.journal.replaced] }),
    started_at: tick.clock.startedAt.toISOString(),
    finished_at: new Date().toISOString(),
    durations_ms: { ...tick.clock.durationsMs },
  };
}

function reportOutcomeOf(ending: Outcome['ending']): ReportOutcome | null {
  return endings[ending].meta.report;
}

function joinLines(lines: string[]): string | null {
  return lines.length > 0 ? lines.join('\n') : null;
}

/** The token error of the previous tick, as a line of the report (spec §11). */
function tokenErrorLines({ token }: State): string[] {
  return token.trouble === null ? [] : [`token: ${token.trouble}`];
}
