import type { Report } from '../../../protocol/report.ts';
import type { BearerIdentity } from '../../credentials/bearerCache.ts';
import { keepHeartbeat } from '../../store/agents.ts';
import { recordReport } from '../../store/reports.ts';
import type { Dependencies } from '../dependencies.ts';
import { readAgentOf } from './agent.ts';

/** Keeps a report of a host durably; false if it was kept before. Of a heartbeat only the time is kept. */
export async function receiveReport(
  deps: Dependencies,
  { token, report }: { token: BearerIdentity; report: Report },
): Promise<boolean> {
  const { id } = await readAgentOf(deps, { token, env: report.env }, 'report');
  const now = deps.clock();
  if (report.outcome !== 'heartbeat') return recordReport(deps.store, id, { report, now });
  await keepHeartbeat(deps.store, id, now);
  return true;
}
