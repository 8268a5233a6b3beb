import type { Command } from 'commander';
import { path } from '../api/path.ts';
import { readPages } from '../api/pages.ts';
import type { ReceivedReport } from '../api/types.ts';
import { countOption } from '../input/options.ts';
import { shortSha } from '../output/sha.ts';
import { formatTable } from '../output/table.ts';
import { formatAge } from '../output/times.ts';
import type { Result, Run, Session } from '../session.ts';

/** `deployctl reports`. */
export function addReports(program: Command, run: Run): void {
  program
    .command('reports')
    .description('what the host of a backend reported, the newest first')
    .argument('<id>', 'of the backend')
    .option('--limit <count>', 'as many at most', countOption, 20)
    .action(run(reports));
}

async function reports(session: Session, [id]: [string], { limit }: { limit: number }): Promise<Result> {
  const call = { path: path`/v1/backends/${id}/reports`, key: 'reports', cursor: 'before', limit } as const;
  const json = await readPages<'reports', ReceivedReport>(await session.api(), call);
  const rows = json.reports.map(({ received_at, outcome, reason, desired_sha, applied_sha, code, detail }) => [
    formatAge(received_at, session.nowMs),
    outcome,
    reason,
    shortSha(desired_sha),
    shortSha(applied_sha),
    [code, detail].filter((text) => text !== null).join(': '),
  ]);
  const head = ['AGE', 'OUTCOME', 'REASON', 'DESIRED', 'APPLIED', 'DETAIL'];
  return { json, text: formatTable(head, rows, session.width) };
}
