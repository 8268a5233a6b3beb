import { endings, type ReportOutcome } from '../../../../machines/endings.ts';
import type { DesiredState, Outcome, ReportedContainer } from '../../../../machines/types.ts';
import type { Report } from '../../../api/report.rules.ts';
import { enqueueReport } from '../../rules/state/reportOutbox.ts';
import type { State } from '../../rules/state/state.ts';
import type { Dependencies } from '../dependencies.ts';

/** Input of a report; `appliedSha` defaults to that of the state. */
interface ReportInput {
  outcome: Outcome;
  desired: DesiredState;
  appliedSha?: string;
  containers?: ReportedContainer[];
}

/**
 * The state patch of an outcome: `last_outcome` and the queued report. It belongs into the write that causes the outcome, so
 * that no crash separates the two; a later report of the same tick replaces it (spec §10.3).
 */
export function outcomePatch(deps: Dependencies, input: ReportInput): Pick<State, 'last_outcome' | 'pending_reports'> {
  const report = reportOf(deps, input);
  const last_outcome = lastOutcomeOf(deps, input.outcome);
  return { last_outcome, pending_reports: enqueueReport(deps.state.state.pending_reports, report) };
}

/** The `last_outcome` of state.json, which `deployd status` shows. */
export function lastOutcomeOf(
  { tick }: Dependencies,
  { ending, code, lines }: Outcome,
): NonNullable<State['last_outcome']> {
  const detail = joinLines([...lines, ...tick.remarks]);
  const outcome = ending === 'converged' ? 'heartbeat' : ending;
  return { at: new Date().toISOString(), outcome, code, detail };
}

/** The report of a tick; it has the id of the tick, which sends at most one. */
export function reportOf(deps: Dependencies, { outcome, desired, appliedSha, containers = [] }: ReportInput): Report {
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
    detail: joinLines([...outcome.lines, ...tick.remarks, ...tokenErrorLines(state.state)]),
    output_tail: outcome.tail,
    containers,
    started_at: tick.startedAt.toISOString(),
    finished_at: new Date().toISOString(),
    durations_ms: { ...tick.durationsMs },
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
