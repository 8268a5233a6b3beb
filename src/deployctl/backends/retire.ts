import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { readPages } from '../core/lists.ts';
import { countOption } from '../core/options.ts';
import { formatAge, formatTable, shortSha } from '../core/table.ts';
import type { ReceivedReport, Retiring } from '../core/types.ts';

interface RetireOptions {
  confirm?: boolean;
  force?: boolean;
  purgeVolumes?: boolean;
  swarm?: boolean;
}

/** `deployctl retire`. */
export function addRetire(program: Command, run: Run): void {
  program
    .command('retire')
    .description('Stop the services of a host, then revoke its credentials')
    .argument('<id>', 'id of the backend')
    .option('--confirm', 'required, because a retirement cannot be undone')
    .option('--force', 'retire an offline host too, or stop waiting for a retiring host')
    .option('--swarm', 'retire all managers of its swarm and remove the stack')
    .option('--purge-volumes', 'remove volumes too, except on production hosts')
    .action(run(retire));
}

async function retire(
  session: Session,
  [id]: [string],
  { confirm = false, force = false, purgeVolumes = false, swarm = false }: RetireOptions,
): Promise<Result> {
  const api = await session.api();
  // A service of an older version knows no swarm.
  const body = { confirm, force, purge_volumes: purgeVolumes, ...(swarm && { swarm }) };
  const call = { method: 'POST', path: path`/v1/backends/${id}/retire`, json: body } as const;
  const json = await api.call<Retiring>(call);
  const backends = [json, ...(json.others ?? [])];
  return { json, text: backends.map(({ id, state }) => `backend ${id} is ${state}`).join('\n') };
}

/** `deployctl reports`. */
export function addReports(program: Command, run: Run): void {
  program
    .command('reports')
    .description('List the reports of a host, newest first')
    .argument('<id>', 'id of the backend')
    .option('--limit <count>', 'maximum number of entries', countOption, 20)
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
