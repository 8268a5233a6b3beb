import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { configDirectory, readSettings } from '../config/configFiles.ts';
import type { CtlSettings } from '../config/configKeys.ts';
import { contextOf, readToken, targetOf } from '../config/connection.ts';
import { requireDestination, type Result, type RevealOptions, type Run, type Session } from '../config/session.ts';
import { type Api, type ApiCall, type Connection, createApi, hostIdOf, path, readPages } from '../core/client.ts';
import { writePrivateFile } from '../core/files.ts';
import { collectOption, countOption, durationOption, requireEnv, unknownFilter } from '../core/input.ts';
import { formatAge, formatFacts, formatLeft, formatTable, formatTime, harmlessJson } from '../core/table.ts';
import type { AuditEntry, AuditLog, NewOperator, Operator, PersonSession, WhoAmI } from '../core/types.ts';

/** `deployctl login`. */
export function addLogin(program: Command, run: Run): void {
  program
    .command('login')
    .description('Log in and save URL and token for later commands')
    .argument('[url]', 'URL of the tenancy service')
    .addHelpText('after', help)
    .action(run(login));
}

const help = `
Reads the token from standard input, or on a terminal from a prompt without
echo, and saves it next to config.yaml. With --token-file FILE, it saves the
path of the file instead.`;

async function login(session: Session, [url]: [string | undefined]): Promise<Result> {
  const { io, options } = session;
  const target = targetOf({ ...options, ...(url !== undefined && { url }) }, io.env);
  const dir = configDirectory(io.env);
  const { tokenFile: option = '-' } = options;
  const token = await readToken(option, io);
  const given = isKept(option) ? resolve(option) : null;
  const json = await whoIs(session, { url: target.url, token, context: contextOf(target.caFile), env: io.env });
  const tokenFile = given ?? join(dir, 'token');
  if (given === null) await writePrivateFile(tokenFile, `${token}\n`);
  const config = options.config ?? join(dir, 'config.yaml');
  const { sigstore } = readSettings(options.config, io.env);
  const settings = { url: target.url.href, token_file: tokenFile, ca_file: target.caFile, sigstore };
  await writePrivateFile(config, formatConfig(settings));
  return { json, text: `${formatWhoAmI(json)}\nkept in ${config}` };
}

/** Whether later commands can read the token from this path again. */
function isKept(tokenFile: string): boolean {
  return (
    tokenFile !== '-' &&
    statSync(tokenFile, { throwIfNoEntry: false })?.isFile() === true &&
    !/^\/(dev|proc)\//.test(resolve(tokenFile))
  );
}

async function whoIs({ clock }: Session, connection: Connection): Promise<WhoAmI> {
  const api = createApi(connection, clock);
  try {
    return await api.call<WhoAmI>({ method: 'GET', path: '/v1/whoami' });
  } finally {
    api.close();
  }
}

/** JSON is YAML. */
function formatConfig({ sigstore, ...settings }: CtlSettings): string {
  const named = withoutNulls(sigstore);
  const known = withoutNulls({ ...settings, sigstore: Object.keys(named).length > 0 ? named : null });
  return Object.entries(known)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('');
}

function withoutNulls(settings: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
}

/** `deployctl whoami`. */
export function addWhoAmI(program: Command, run: Run): void {
  program.command('whoami').description('Show the owner and permissions of the current token').action(run(whoAmI));
}

async function whoAmI(session: Session): Promise<Result> {
  const api = await session.api();
  const json = await api.call<WhoAmI>({ method: 'GET', path: '/v1/whoami' });
  return { json, text: formatWhoAmI(json) };
}

/** Formats an operator's name, role and environments. */
function formatWhoAmI({ name, role, envs }: WhoAmI): string {
  return formatFacts([
    ['name', name],
    ['role', role],
    ['envs', formatEnvs(envs)],
  ]);
}

/** Formats the environments to which a token is limited. */
function formatEnvs(envs: string[] | null): string {
  return envs === null ? 'all' : envs.join(', ');
}

/** `deployctl operator list|create|revoke`. */
export function addOperator(program: Command, run: Run): void {
  const operator = program
    .command('operator')
    .helpCommand(false)
    .description('Manage the tokens of people and pipelines');
  operator.command('list').description('List valid tokens by name').action(run(listOperators));
  operator
    .command('create')
    .description('Create a token and print it, once')
    .argument('<name>', 'name of the owner in ASCII, as shown in the audit log')
    .addOption(
      new Option('--role <role>', 'permissions of the token')
        .choices(['viewer', 'deployer', 'admin'])
        .makeOptionMandatory(),
    )
    .option('--display-name <text>', 'name to show beside it, with any characters')
    .option('--env <env>', 'limit the token to this environment; repeatable', collectOption)
    .option('--expires <time>', 'lifetime of the token: 45m, 12h or 90d', durationOption)
    .option('--break-glass', 'mark as an emergency token: the audit log records all its calls, also if they only read')
    .option('--output <file>', 'file to write the token to, with mode 0600')
    .option('--show', 'print the token even to a terminal')
    .action(run(createOperator));
  operator
    .command('revoke')
    .description('Revoke a token')
    .argument('<id>', 'id of the token')
    .action(run(revokeOperator));
}

async function listOperators(session: Session): Promise<Result> {
  const api = await session.api();
  const json = await api.call<{ operators: Operator[] }>({ method: 'GET', path: '/v1/operators' });
  const rows = json.operators.map(
    ({ id, name, display_name, role, envs, created_at, last_used_at, expires_at, break_glass }) => [
      id,
      display_name === null || display_name === undefined ? name : `${name} (${display_name})`,
      role,
      formatEnvs(envs),
      formatAge(created_at, session.nowMs),
      formatAge(last_used_at, session.nowMs),
      formatLeft(expires_at ?? null, session.nowMs),
      break_glass ? 'break-glass' : '',
    ],
  );
  const head = ['ID', 'NAME', 'ROLE', 'ENVS', 'AGE', 'USED', 'EXPIRES', 'NOTE'];
  return { json, text: formatTable(head, rows, session.width) };
}

interface CreateOptions {
  role: string;
  displayName?: string;
  env?: string[];
  /** Seconds. */
  expires?: number;
  breakGlass?: boolean;
}

async function createOperator(
  session: Session,
  [name]: [string],
  { role, displayName, env, expires, breakGlass, ...options }: RevealOptions & CreateOptions,
): Promise<Result> {
  requireDestination(session, options);
  const body = {
    ...{ name, role, envs: env ?? null },
    ...(displayName !== undefined && { display_name: displayName }),
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
  const session = program.command('session').helpCommand(false).description('Manage the console sessions of people');
  session.command('list').description('List sessions, newest first').action(run(listSessions));
  session
    .command('end')
    .description('End a session immediately')
    .argument('<id>', 'id of the session')
    .action(run(endSession));
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
  const command = program
    .command('audit')
    .helpCommand(false)
    .description('Show who did what and with which result, newest first')
    .option('--env <env>', 'only entries of this environment')
    .option('--act <act>', 'only this action, such as secret.set')
    .option('--host <host>', 'only actions on this host: its name, its id, or 8 characters of its id')
    .option('--actor <name>', 'only entries of this operator; oidc:NAME for people who sign in')
    .option('--limit <count>', 'maximum number of entries', countOption, 50)
    .action(run(audit));
  command
    .command('export')
    .description('Print the entries as JSON lines, oldest first, without the entries of the last two minutes')
    .option(
      '--after <id>',
      'only entries after this one: the `id` of the last line of an earlier export',
      countOption,
      0,
    )
    .action(run(exportAudit));
}

/** Filters of the audit log. */
interface AuditFilter {
  env?: string;
  act?: string;
  actor?: string;
  host?: string;
}

/** The filters as parameters of the API; an older service refuses a host. */
async function auditQuery(api: Api, { env, act, actor, host }: AuditFilter) {
  return { env, act, actor, ...(host !== undefined && { target: await hostIdOf(api, host) }) };
}

/** Throws if a filter of the audit log is to blame for an empty list: nothing has this value. */
async function requireAudited(api: Api, filter: AuditFilter): Promise<void> {
  await requireEnv(api, filter.env, []);
  for (const name of ['act', 'actor'] as const) {
    if (filter[name] === undefined) continue;
    const query = { [name]: filter[name], limit: 1 };
    const { entries } = await api.call<AuditLog>({ method: 'GET', path: '/v1/audit', query });
    const what = name === 'act' ? 'action' : 'operator';
    if (entries.length === 0)
      throw unknownFilter(`no entry of the audit log has the ${what} ${filter[name]}`, '`deployctl audit` shows them');
  }
}

/** Prints page after page, so that a log of any length needs little memory. */
async function exportAudit(session: Session, _operands: [], options: { after: number }): Promise<Result> {
  const api = await session.api();
  const filter = session.options as AuditFilter;
  const fixed = await auditQuery(api, filter);
  let [after, isEmpty]: [number | null, boolean] = [options.after, true];
  while (after !== null) {
    const query: ApiCall['query'] = { ...fixed, after, limit: 500 };
    const page: AuditLog = await api.call<AuditLog>({ method: 'GET', path: '/v1/audit', query });
    const lines = page.entries.map((entry) => `${harmlessJson(entry, 0)}\n`);
    if (lines.length > 0 && !session.io.stdout.write(lines.join(''))) await once(session.io.stdout, 'drain');
    isEmpty &&= lines.length === 0;
    after = page.next;
  }
  if (isEmpty) await requireAudited(api, filter);
  return { json: {}, text: null };
}

async function audit(
  session: Session,
  _operands: [],
  { limit, ...filter }: AuditFilter & { limit: number },
): Promise<Result> {
  const api = await session.api();
  const query = await auditQuery(api, filter);
  const call = { path: '/v1/audit', query, key: 'entries', cursor: 'before', limit } as const;
  const json = await readPages<'entries', AuditEntry>(api, call);
  if (json.entries.length === 0) await requireAudited(api, filter);
  const hasChanges = json.entries.some(({ after }) => typeof after === 'string');
  const rows = json.entries.map(({ at, actor, act, target, env, address, result, count = 1, before, after }) => [
    at.slice(0, 19),
    actor,
    act,
    target,
    env ?? '-',
    address ?? '-',
    count === 1 ? result : `${result} ×${count}`,
    ...(hasChanges ? [typeof after === 'string' ? `${before ?? '-'} → ${after}` : '-'] : []),
  ]);
  const head = ['AT', 'ACTOR', 'ACT', 'TARGET', 'ENV', 'FROM', 'RESULT', ...(hasChanges ? ['CHANGE'] : [])];
  return { json, text: formatTable(head, rows, session.width) };
}
