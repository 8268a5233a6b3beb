import { endings, type ReportWord } from '../../../../machines/endings.ts';
import type { Container, Orders, Outcome } from '../../../../machines/words.ts';
import { enqueued, type Report } from '../../../protocol/report.ts';
import type { State } from '../../rules/state/state.ts';
import type { Tools } from '../tools.ts';

/** What a report tells besides the outcome; what is left out is as the state has it. */
interface Told {
  outcome: Outcome;
  orders: Orders;
  appliedSha?: string;
  containers?: Container[];
}

/**
 * An outcome as state.json keeps it: the last one, and its report in the outbox. The write that brings an outcome about
 * takes it along, so that no crash comes between the two; a later one of the same tick replaces it (spec §10.3).
 */
export function remembered(tools: Tools, told: Told): Pick<State, 'last_outcome' | 'pending_reports'> {
  const report = reportOf(tools, told);
  const last_outcome = lastOutcomeOf(tools, told.outcome);
  return { last_outcome, pending_reports: enqueued(tools.state.state.pending_reports, report) };
}

/** An outcome for `status`, when the tick makes no report of it. */
export function lastOutcomeOf({ tick }: Tools, { ending, code, lines }: Outcome): NonNullable<State['last_outcome']> {
  const detail = joined([...lines, ...tick.remarks]);
  return { at: new Date().toISOString(), outcome: wordOf(ending) ?? ending, code, detail };
}

/** The report of a tick; its id is the tick's, for a tick makes one at most. */
export function reportOf(tools: Tools, { outcome, orders, appliedSha, containers = [] }: Told): Report {
  const { settings, state, tick, version } = tools;
  return {
    report_id: tick.id,
    tick_id: tick.id,
    env: settings.env,
    site: settings.site,
    agent_version: version,
    outcome: wordOf(outcome.ending) ?? 'failed',
    reason: outcome.reason || orders.reason,
    action: orders.action,
    desired_sha: orders.desiredSha,
    applied_sha: appliedSha ?? state.state.applied_sha,
    reverted: outcome.reverted,
    code: outcome.code,
    detail: joined([...outcome.lines, ...tick.remarks, ...troubleOf(state.state)]),
    output_tail: outcome.tail,
    containers,
    started_at: tick.startedAt.toISOString(),
    finished_at: new Date().toISOString(),
    durations_ms: { ...tick.durations },
  };
}

function wordOf(ending: Outcome['ending']): ReportWord | null {
  return endings[ending].meta.report;
}

function joined(lines: string[]): string | null {
  return lines.length > 0 ? lines.join('\n') : null;
}

/** What the tick before this one could not do for the token: the next report tells it (spec §11). */
function troubleOf({ token }: State): string[] {
  return token.trouble === null ? [] : [`token: ${token.trouble}`];
}
