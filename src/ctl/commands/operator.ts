import { Option, type Command } from 'commander';
import { path } from '../api/path.ts';
import type { NewOperator, Operator } from '../api/types.ts';
import { collectOption, durationOption } from '../input/options.ts';
import { writePrivateFile } from '../output/privateFile.ts';
import { requireDestination, type RevealOptions } from '../output/revealing.ts';
import { formatTable } from '../output/table.ts';
import { formatAge, formatLeft, formatTime } from '../output/times.ts';
import type { Result, Run, Session } from '../session.ts';
import { formatEnvs, formatWhoAmI } from './whoami.ts';

/** `deployctl operator list|create|revoke`. */
export function addOperator(program: Command, run: Run): void {
  const operator = program.command('operator').helpCommand(false).description('the tokens of people and pipelines');
  operator.command('list').description('every token that is valid, by name').action(run(listOperators));
  operator
    .command('create')
    .description('a new token, which is told once')
    .argument('<name>', 'whose it is, as the audit log shows it')
    .addOption(
      new Option('--role <role>', 'what it may do').choices(['viewer', 'deployer', 'admin']).makeOptionMandatory(),
    )
    .option('--env <env>', 'limit it to this env; may be given several times', collectOption)
    .option('--expires <time>', 'end it after so long: 45m, 12h or 90d', durationOption)
    .option('--break-glass', 'keep it for emergencies: each call by it is in the audit log')
    .option('--output <file>', 'write the token there, mode 0600')
    .option('--show', 'print the token, on a terminal too')
    .action(run(createOperator));
  operator.command('revoke').description('end a token').argument('<id>', 'its id').action(run(revokeOperator));
}

async function listOperators(session: Session): Promise<Result> {
  const api = await session.api();
  const json = await api.call<{ operators: Operator[] }>({ method: 'GET', path: '/v1/operators' });
  const rows = json.operators.map(({ id, name, role, envs, created_at, last_used_at, expires_at, break_glass }) => [
    id,
    name,
    role,
    formatEnvs(envs),
    formatAge(created_at, session.nowMs),
    formatAge(last_used_at, session.nowMs),
    formatLeft(expires_at ?? null, session.nowMs),
    break_glass ? 'break-glass' : '',
  ]);
  const head = ['ID', 'NAME', 'ROLE', 'ENVS', 'AGE', 'USED', 'EXPIRES', 'NOTE'];
  return { json, text: formatTable(head, rows, session.width) };
}

interface CreateOptions {
  role: string;
  env?: string[];
  /** Seconds. */
  expires?: number;
  breakGlass?: boolean;
}

async function createOperator(
  session: Session,
  [name]: [string],
  { role, env, expires, breakGlass, ...options }: RevealOptions & CreateOptions,
): Promise<Result> {
  requireDestination(session, options);
  const body = {
    ...{ name, role, envs: env ?? null },
    ...(expires !== undefined && { lifetime_s: expires }),
    ...(breakGlass && { break_glass: true }),
  };
  const api = await session.api();
  const { token, ...rest } = await api.call<NewOperator>({ method: 'POST', path: '/v1/operators', json: body });
  const known = `${formatWhoAmI(rest)}\nends  ${formatTime(rest.expires_at ?? null, session.nowMs)}`;
  if (options.output === undefined) return { json: { ...rest, token }, text: `${known}\ntoken\n${token}` };
  await writePrivateFile(options.output, `${token}\n`);
  return { json: rest, text: `${known}\nthe token is in ${options.output}` };
}

async function revokeOperator(session: Session, [id]: [string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call({ method: 'DELETE', path: path`/v1/operators/${id}` });
  return { json, text: `token ${id} is revoked` };
}
