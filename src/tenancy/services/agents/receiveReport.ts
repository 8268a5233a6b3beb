import type { Report } from '../../../protocol/report.ts';
import type { BearerIdentity } from '../../credentials/bearerCache.ts';
import { recordReport } from '../../store/reports.ts';
import type { Dependencies } from '../dependencies.ts';
import { readAgentOf } from './agent.ts';

/** Keeps a report of a host durably; false if it was kept before. */
export async function receiveReport(
  deps: Dependencies,
  { token, report }: { token: BearerIdentity; report: Report },
): Promise<boolean> {
  const { id } = await readAgentOf(deps, { token, env: report.env }, 'report');
  return recordReport(deps.store, id, { report, now: deps.clock() });
}
