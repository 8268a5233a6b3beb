import type { Command } from 'commander';
import { readPages } from '../api/pages.ts';
import type { AuditEntry } from '../api/types.ts';
import { countOption } from '../input/options.ts';
import { formatTable } from '../output/table.ts';
import type { Result, Run, Session } from '../session.ts';

/** `deployctl audit`. */
export function addAudit(program: Command, run: Run): void {
  program
    .command('audit')
    .description('who did what, and with what result, the newest first')
    .option('--env <env>', 'what concerns one env')
    .option('--act <act>', 'one act, such as secret.set')
    .option('--actor <name>', 'what one operator has done; of people who sign in, oidc:NAME')
    .option('--limit <count>', 'as many at most', countOption, 50)
    .action(run(audit));
}

async function audit(
  session: Session,
  _operands: [],
  { limit, ...filter }: { env?: string; act?: string; actor?: string; limit: number },
): Promise<Result> {
  const call = { path: '/v1/audit', query: filter, key: 'entries', cursor: 'before', limit } as const;
  const json = await readPages<'entries', AuditEntry>(await session.api(), call);
  const rows = json.entries.map(({ at, actor, act, target, env, address, result }) => [
    at.slice(0, 19),
    actor,
    act,
    target,
    env ?? '-',
    address ?? '-',
    result,
  ]);
  return { json, text: formatTable(['AT', 'ACTOR', 'ACT', 'TARGET', 'ENV', 'FROM', 'RESULT'], rows, session.width) };
}
