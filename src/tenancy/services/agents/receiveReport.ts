import { isDeferralReason, type Report } from '../../../protocol/report.ts';
import type { BearerIdentity } from '../../credentials/bearerCache.ts';
import { outcomeAfterReport } from '../../rules/rollout/hostOutcome.ts';
import { eventOfReport, troubleOf } from '../../rules/webhooks/trouble.ts';
import { recordHeartbeat, type AgentRow } from '../../store/agents.ts';
import { findBackend, setTrouble } from '../../store/backends.ts';
import { lockEnv } from '../../store/envs.ts';
import { findBundle } from '../../store/bundles.ts';
import type { HostOutcome } from '../../store/rolloutTable.ts';
import type { Store } from '../../store/openStore.ts';
import { addReport } from '../../store/reports.ts';
import type { OutcomeChange } from '../../store/rolloutHosts.ts';
import type { Dependencies } from '../dependencies.ts';
import { announce } from '../webhooks/announce.ts';
import { readAgentOf } from './agent.ts';

/** Keeps a report of a host durably, and announces a change of its trouble; false if it was kept before. */
export async function receiveReport(
  deps: Dependencies,
  { token, report }: { token: BearerIdentity; report: Report },
): Promise<boolean> {
  const agent = await readAgentOf(deps, { token, env: report.env }, 'report');
  const now = deps.clock();
  if (report.outcome === 'heartbeat') return receiveHeartbeat(deps.store, agent, { report, now });
  return deps.store.transaction().execute(async (work) => {
    if (report.outcome === 'down') await lockEnv(work, agent.env);
    if (!(await addReport(work, agent.id, { report, now, rollout: outcomeChangeOf(agent, report) }))) return false;
    await announceTrouble(work, agent, { report, now });
    return true;
  });
}

/** What a report means for the host in the rollout of its env; null if it has joined none. */
function outcomeChangeOf({ rollout_id, rollout_sha }: AgentRow, report: Report): OutcomeChange | null {
  if (rollout_id === null || rollout_sha === null) return null;
  const { outcome, desired_sha: desiredSha, applied_sha: appliedSha } = report;
  const next = (before: HostOutcome) => outcomeAfterReport(before, { outcome, desiredSha, appliedSha }, rollout_sha);
  return { rolloutId: rollout_id, next };
}

/** A report, and when it came. */
interface Receipt {
  report: Report;
  now: number;
}

/** Of a heartbeat only the time is kept, and that the trouble before is over, unless the host only waits. */
async function receiveHeartbeat(store: Store, agent: AgentRow, { report, now }: Receipt): Promise<boolean> {
  await recordHeartbeat(store, agent.id, now);
  if (agent.trouble !== null && !isDeferralReason(report.reason))
    await store.transaction().execute((work) => announceTrouble(work, agent, { report, now }));
  return true;
}

/** Announces the trouble that a report tells once, not again at each tick; nothing of a host that is taken down. */
async function announceTrouble(work: Store, { id, env, state }: AgentRow, { report, now }: Receipt): Promise<void> {
  if (state !== 'active' && state !== 'offline') return;
  if (!(await setTrouble(work, id, troubleOf(report)))) return;
  const type = eventOfReport(report.outcome);
  const backend = type && (await findBackend(work, id));
  if (!backend) return;
  const { desired_sha, code, detail } = report;
  const bundle = desired_sha === null ? null : await findBundle(work, desired_sha);
  await announce(work, { type, now, env, backend, bundle, code, detail });
}
