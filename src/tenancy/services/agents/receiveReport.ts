import type { Report } from '../../../protocol/report.ts';
import type { BearerIdentity } from '../../credentials/bearerCache.ts';
import { outcomeAfterReport } from '../../rules/rollout/hostOutcome.ts';
import type { AgentRow } from '../../store/agents.ts';
import type { HostOutcome } from '../../store/database.ts';
import { recordReport } from '../../store/reports.ts';
import type { OutcomeChange } from '../../store/rolloutHosts.ts';
import type { Dependencies } from '../dependencies.ts';
import { readAgentOf } from './agent.ts';

/** Keeps a report of a host durably; false if it was kept before. */
export async function receiveReport(
  deps: Dependencies,
  { token, report }: { token: BearerIdentity; report: Report },
): Promise<boolean> {
  const agent = await readAgentOf(deps, { token, env: report.env }, 'report');
  return recordReport(deps.store, agent.id, { report, now: deps.clock(), rollout: outcomeChangeOf(agent, report) });
}

/** What a report means for the host in the rollout of its env; null if it has joined none. */
function outcomeChangeOf({ rollout_id, rollout_sha }: AgentRow, report: Report): OutcomeChange | null {
  if (rollout_id === null || rollout_sha === null) return null;
  const { outcome, desired_sha: desiredSha, applied_sha: appliedSha } = report;
  const next = (before: HostOutcome) => outcomeAfterReport(before, { outcome, desiredSha, appliedSha }, rollout_sha);
  return { rolloutId: rollout_id, next };
}
