import { randomUUID } from 'node:crypto';
import { endings } from '../../machines/endings.ts';
import type { Container, Orders, Outcome } from '../../machines/words.ts';
import { reportedOf } from '../rules/health.ts';
import { enqueued, type Report } from '../rules/report.ts';
import type { State } from '../rules/state.ts';
import type { Tools } from './tools.ts';

/**
 * Records how the tick came out: `last_outcome` and, after a check-in, the report in the outbox, in one durable write,
 * so that an outcome survives outages and restarts. A tick that decided nothing leaves the last outcome as it is.
 */
export async function conclude(tools: Tools, input: { outcome: Outcome; orders: Orders | null }): Promise<void> {
  const { outcome, orders } = input;
  const { exit, report: word } = endings[outcome.ending].meta;
  if (exit === 75 || outcome.ending === 'offlineLaptop' || outcome.ending === 'paused') return;
  const { state } = tools;
  const detail = joined(outcome.lines);
  const last_outcome = { at: new Date().toISOString(), outcome: word ?? outcome.ending, code: outcome.code, detail };
  if (orders === null || word === null) return state.update({ last_outcome });
  const report = {
    ...reportOf(tools, { outcome, orders }),
    outcome: word,
    detail: joined([...outcome.lines, ...troubleOf(state.state)]),
    containers: await containersOf(tools),
  };
  if (word === 'heartbeat') {
    tools.tick.heartbeat = report;
    return state.update({ last_outcome });
  }
  await state.update({ last_outcome, pending_reports: enqueued(state.state.pending_reports, report) });
}

function joined(lines: string[]): string | null {
  return lines.length > 0 ? lines.join('\n') : null;
}

/** What the tick before this one could not do for the token: the next report tells it (spec §11). */
function troubleOf({ token }: State): string[] {
  return token.trouble === null ? [] : [`token: ${token.trouble}`];
}

function reportOf(
  { settings, state, tick, version }: Tools,
  { outcome, orders }: { outcome: Outcome; orders: Orders },
) {
  return {
    report_id: randomUUID(),
    tick_id: tick.id,
    env: settings.env,
    site: settings.site,
    agent_version: version,
    reason: outcome.reason || orders.reason,
    action: orders.action,
    desired_sha: orders.desiredSha,
    applied_sha: state.state.applied_sha,
    reverted: outcome.reverted,
    code: outcome.code,
    output_tail: outcome.tail,
    started_at: tick.startedAt.toISOString(),
    finished_at: new Date().toISOString(),
    durations_ms: { ...tick.durations },
  } satisfies Partial<Report>;
}

async function containersOf(tools: Tools): Promise<Container[]> {
  return tools.containers.list().then(
    (containers) => containers.map(reportedOf),
    () => [],
  );
}
