import { type Command, Option } from 'commander';
import { requireDestination, type Result, type RevealOptions, type Run, type Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { writePrivateFile } from '../core/files.ts';
import { readPages } from '../core/lists.ts';
import { collectOption, countOption, durationOption } from '../core/options.ts';
import { formatAge, formatLeft, formatTable, formatTime } from '../core/table.ts';
import type { AuditEntry, NewOperator, Operator, PersonSession } from '../core/types.ts';
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

/** `deployctl session list|end`. */
export function addSession(program: Command, run: Run): void {
  const session = program.command('session').helpCommand(false).description('who has signed in, and where');
  session.command('list').description('sessions of people, the newest first').action(run(listSessions));
  session.command('end').description('end a session at once').argument('<id>', 'its id').action(run(endSession));
}

async function listSessions(session: Session): Promise<Result> {
  const api = await session.api();
  const json = await api.call<{ sessions: PersonSession[] }>({ method: 'GET', path: '/v1/sessions' });
  const rows = json.sessions.map(({ id, name, role, envs, address, last_used_at, expires_at }) => [
    ...[id, name, role ?? '-', formatEnvs(envs), address],
    formatAge(last_used_at, session.nowMs),
    formatLeft(expires_at, session.nowMs),
  ]);
  const head = ['ID', 'NAME', 'ROLE', 'ENVS', 'FROM', 'USED', 'ENDS'];
  return { json, text: formatTable(head, rows, session.width) };
}

async function endSession(session: Session, [id]: [string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call({ method: 'DELETE', path: path`/v1/sessions/${id}` });
  return { json, text: `session ${id} is ended` };
}

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
