import { type Command, Option } from 'commander';
import type { ToldHold } from '../../api/checkIn.rules.ts';
import { parseLabels } from '../../api/rolloutPlan.rules.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, hostIdOf, path, readHost, readPages } from '../core/client.ts';
import { CtlError, usageError } from '../core/ctlError.ts';
import {
  type BulkOptions,
  chooseHosts,
  collectOption,
  countOption,
  filterQuery,
  forEachHost,
  formatLabels,
  type HostFilter,
  hostFilters,
  envOf,
  requireEnv,
  requireNoFilter,
  unknownFilter,
} from '../core/input.ts';
import {
  describeHost,
  formatAge,
  formatDoom,
  formatFacts,
  formatHealth,
  formatTable,
  formatTime,
  harmless,
  hostLabel,
  shortId,
  shortIdLength,
  shortSha,
} from '../core/table.ts';
import type { Backend, BackendDetails, HostCode, HostCopy, PendingStep, SecretName } from '../core/types.ts';
import { addBackendAccept, describeCopy, hostArgument } from './host.ts';

/** `deployctl host list|show|add|create|label|lock|unlock|accept`; `backend` is the older name of the group. */
export function addBackend(program: Command, run: Run): void {
  const backend = program.command('host').alias('backend').helpCommand(false).description('Manage hosts');
  addBackendList(backend, run);
  addBackendLock(backend, run);
  addBackendAccept(backend, run);
  backend.command('show').description('Show a host').argument('<host>', hostArgument).action(run(showBackend));
  backend
    .command('create')
    .description('Create the record of a new host; then install the host with `deployctl kit`')
    .option('--env <env>', 'environment of the host (default: the only one)')
    .requiredOption('--site <site>', 'location of the host')
    .addOption(
      new Option('--transport <name>', 'how the host connects to the services')
        .choices(['sdk', 'proxy', 'system'])
        .default('system'),
    )
    .option('--laptop', 'the host may be offline for a long time')
    .option('--label <name=value>', 'label to select hosts of a rollout by; repeatable', collectOption)
    .action(run(createBackend));
  backend
    .command('add')
    .description('Print lines to paste on a new host, which install the agent and add the host')
    .argument('<name>', 'name of the host; its record is created if there is none')
    .argument('[env]', 'environment of the host (default: the only one)')
    .option('--site <site>', 'location of a new host (default: its name)')
    .option('--laptop', 'the new host may be offline for a long time')
    .option('--yes', 'print lines that install a missing engine without asking')
    .action(run(addHost));
  const label = backend
    .command('label')
    .description('Change labels of a host, or of all hosts that match filters')
    .argument('[host]', hostArgument)
    .argument('[labels...]', 'labels as NAME=VALUE, which replace all labels; without any, all are removed')
    .option('--add <name=value>', 'label to add or to change; the others stay; repeatable', collectOption)
    .option('--remove <name>', 'label to remove; the others stay; repeatable', collectOption);
  hostFilters(label).option('--confirm', 'do not ask before changing several hosts').action(run(labelBackend));
}

async function showBackend(session: Session, [host]: [string]): Promise<Result> {
  const json = await readHost(await session.api(), host);
  return { json, text: formatBackend(json, session.nowMs) };
}

async function createBackend(
  session: Session,
  _operands: [],
  { env, site, transport, laptop = false, label = [] }: NewBackendOptions,
): Promise<Result> {
  const labels = readLabels(label);
  const api = await session.api();
  const body = { env: await envOf(session, env), site, laptop, transport, ...(label.length > 0 && { labels }) };
  const json = await api.call<BackendDetails>({ method: 'POST', path: '/v1/backends', json: body });
  return { json, text: formatBackend(json, session.nowMs) };
}

interface AddOptions {
  site?: string;
  laptop?: boolean;
  yes?: boolean;
}

/** Only the lines go to standard output, so that they can be passed on to a shell. */
async function addHost(
  session: Session,
  [name, env]: [string, string | undefined],
  { yes, ...fields }: AddOptions,
): Promise<Result> {
  const api = await session.api();
  const body = { env: await envOf(session, env), name, ...fields, ...(yes === true && { unattended: true }) };
  const json = await api.call<HostCode>({ method: 'POST', path: '/v1/host-codes', json: body });
  const { id, site, created, state, expires_at, packages } = json;
  const what = created ? 'created' : `exists, ${state}; the lines replace its credentials`;
  const notes = [
    `host ${name} (${shortId(id)}, environment ${json.env}, site ${site}): ${what}`,
    ...(packages.length > 0 ? [] : ['warning: the service has no package of deployd to hand out; see docs/setup.md']),
    `on the host, paste these lines until ${formatTime(expires_at, session.nowMs)}; the one-time code in them is secret:`,
  ];
  session.io.stderr.write(`${notes.map(harmless).join('\n')}\n`);
  return { json, text: json.lines.join('\n') };
}

interface NewBackendOptions {
  env?: string;
  site: string;
  transport: string;
  laptop?: boolean;
  label?: string[];
}

interface LabelOptions extends BulkOptions {
  add?: string[];
  remove?: string[];
}

async function labelBackend(
  session: Session,
  [host, words]: [string | undefined, string[]],
  { add = [], remove = [], ...options }: LabelOptions,
): Promise<Result> {
  const isChange = add.length + remove.length > 0;
  if (isChange && words.length > 0)
    throw usageError('LABEL_INVALID', 'give all labels, or changes with --add and --remove, not both');
  const json = isChange ? { set: readLabels(add), remove } : { labels: readLabels(words) };
  const change = (api: Api, id: string) =>
    api.call<BackendDetails>({
      method: isChange ? 'POST' : 'PUT',
      path: path`/v1/backends/${id}/labels`,
      json,
      ...(isChange && { tries: 1 as const }),
    });
  const api = await session.api();
  if (host !== undefined) {
    requireNoFilter(options);
    const changed = await change(api, await hostIdOf(api, host));
    return { json: changed, text: formatBackend(changed, session.nowMs) };
  }
  if (!isChange) throw usageError('LABEL_INVALID', 'several hosts are changed with --add and --remove');
  const chosen = await chooseHosts(session, options, 'change the labels of');
  return forEachHost(chosen, async ({ id }) => {
    const { labels = {} } = await change(api, id);
    return { json: { labels }, line: formatLabels(labels) || 'no labels' };
  });
}

function readLabels(words: string[]): Record<string, string> {
  const labels = parseLabels(words);
  if (labels === null) throw usageError('LABEL_INVALID', 'give labels as NAME=VALUE, each name once');
  return labels;
}

function formatHold({ until, since, by, reason }: ToldHold, nowMs: number): string {
  const begin = since === undefined ? '' : `, since ${formatTime(since, nowMs)}`;
  return `until ${formatTime(until, nowMs)}${begin}${by === undefined ? '' : `, by ${by}`}${reason === null ? '' : `: ${reason}`}`;
}

function formatSwarm({ id, node, leader }: NonNullable<Backend['swarm']>): string {
  return `${id}, node ${node}${leader ? ', the leader' : ''}`;
}

function formatManager(manager: NonNullable<BackendDetails['managers']>[number]): [string, string] {
  const { state, leader } = manager;
  return ['manager', `${describeHost(manager)}, ${state}${leader ? ', the leader' : ''}`];
}

function formatBackend(backend: BackendDetails, nowMs: number): string {
  const { env, site, transport, laptop, labels = {}, last_report: report } = backend;
  const { hold = null, window_opens_at: opening = null, swarm = null, managers = [], violations = [] } = backend;
  return formatFacts([
    ['name', backend.host_name ?? null],
    ['id', backend.id],
    ['host', `environment ${env}, site ${site}, transport ${transport}${laptop ? ', laptop' : ''}`],
    ['labels', formatLabels(labels) || null],
    ['state', `${backend.state} since ${formatTime(backend.state_since, nowMs)}`],
    ['locked', backend.locked_at ? `since ${formatTime(backend.locked_at, nowMs)}: all calls are refused` : null],
    ['cloned', backend.cloned_at ? `since ${formatTime(backend.cloned_at, nowMs)}: ${cloneCure(backend)}` : null],
    ...copiesToShow(backend).map((copy): [string, string] => [
      copy.role,
      `${describeCopy(copy)}, last seen ${formatTime(copy.last_seen_at, nowMs)}`,
    ]),
    ['warning', backend.leftover ?? null],
    ['created', formatTime(backend.created_at, nowMs)],
    ['last seen', formatTime(backend.last_seen_at, nowMs)],
    ['agent', backend.agent_version],
    ['applied', appliedText(backend, nowMs)],
    ['desired', backend.desired_sha ?? 'nothing'],
    ['healthy', formatHealth(backend)],
    ['trouble', backend.trouble ?? null],
    ['held', hold && formatHold(hold, nowMs)],
    ['windows', opening && `closed, the next opens ${formatTime(opening, nowMs)}`],
    ['differs', backend.differs ?? null],
    ...violations.map(({ by, detail }): [string, string] => ['violation', `${by}: ${detail}`]),
    ['trust', formatTrust(backend.trust)],
    ['swarm', swarm && formatSwarm(swarm)],
    ...managers.map(formatManager),
    ['last report', report && `${report.outcome} (${report.reason}) at ${formatTime(report.received_at, nowMs)}`],
    ['', report?.detail ?? null],
    ...(report?.replaced ?? []).map(({ service, order, why }): [string, string] => [
      '',
      `${service}: ${order}: ${why}`,
    ]),
    ['kits revealed', String(backend.kits_revealed ?? backend.generation)],
    ['volumes', backend.purge_volumes ? 'removed by its retirement' : null],
    ['finished', backend.finished.join(', ') || null],
    ['secrets', backend.secrets_destroy_at ? formatDoom(backend.env, backend.secrets_destroy_at, nowMs) : null],
    ...backend.pending_steps.map(formatStep),
  ]);
}

function appliedText({ applied_sha, applied_since = null }: BackendDetails, nowMs: number): string {
  if (applied_sha === null) return 'nothing';
  return applied_since === null ? applied_sha : `${applied_sha}, since ${formatTime(applied_since, nowMs)}`;
}

function cloneCure({ id }: BackendDetails): string {
  return `two hosts use its token, and both are refused; deployctl host accept ${shortId(id)} BOOT`;
}

/** The hosts that wait for a decision, or were refused by one. */
function copiesToShow({ copies = [] }: BackendDetails): HostCopy[] {
  return copies.filter(({ role }) => role === 'contending' || role === 'refused');
}

/** The signers that a host requires of bundles and images; null if it does not report them. */
function formatTrust(trust: BackendDetails['trust']): string | null {
  if (trust === undefined) return null;
  const parts = (['bundles', 'images'] as const).map((what) => {
    const signers = trust[what];
    if (signers === null) return `${what} need no signature`;
    return `${what} signed by ${signers.threshold} of ${[...signers.keys, ...signers.identities].join(', ') || 'nobody'}`;
  });
  return parts.join('; ');
}

function formatStep({ step, tries, error }: PendingStep): [label: string, value: string] {
  return ['pending', error === null ? step : `${step}, tried ${tries} times: ${error}`];
}

const sortColumns = ['id', 'host_name', 'site', 'state', 'last_seen_at', 'agent_version'];

/** `deployctl host list`. */
function addBackendList(backend: Command, run: Run): void {
  hostFilters(backend.command('list').description('List hosts'))
    .addOption(new Option('--sort <column>', 'column to sort by').choices(sortColumns))
    .option('--reverse', 'sort in descending order')
    .option('--limit <count>', 'maximum number of entries', countOption)
    .action(run(listBackends));
}

async function listBackends(
  session: Session,
  _operands: [],
  { limit = Infinity, sort, reverse, ...options }: ListOptions,
): Promise<Result> {
  const query = { ...filterQuery(options), sort: reverse ? `-${sort ?? 'id'}` : sort };
  const call = { path: '/v1/backends', query, key: 'backends', cursor: 'after', limit } as const;
  const api = await session.api();
  const json = await readPages<'backends', Backend>(api, call);
  const { backends } = json;
  await requireEnv(api, options.env, backends);
  if (options.swarm !== undefined && backends.length === 0) await requireSwarm(api, options.swarm);
  const hasSwarms = backends.some(({ swarm }) => swarm);
  const differ = backends.some(({ differs }) => differs);
  const length = uniqueLength(backends);
  const rows = backends.map((backend) => [
    hostLabel(backend),
    backend.env,
    backend.site,
    formatState(backend),
    formatAge(backend.last_seen_at, session.nowMs),
    backend.agent_version ?? '-',
    backend.trouble ?? formatHealth(backend),
    backend.deferred_by ?? '-',
    shortSha(backend.applied_sha),
    shortSha(backend.desired_sha),
    ...(differ ? [backend.differs ? 'differs' : '-'] : []),
    ...(hasSwarms ? [formatSwarmCell(backend)] : []),
    backend.id.slice(0, length),
  ]);
  const head = [
    'HOST',
    'ENV',
    'SITE',
    'STATE',
    'SEEN',
    'AGENT',
    'HEALTHY',
    'DEFERRED',
    'APPLIED',
    'DESIRED',
    ...(differ ? ['SETTINGS'] : []),
    ...(hasSwarms ? ['SWARM'] : []),
    'ID',
  ];
  return { json, text: formatTable(head, rows, session.width) };
}

async function requireSwarm(api: Api, swarm: string): Promise<void> {
  const call = { path: '/v1/backends', query: { swarm }, key: 'backends', cursor: 'after', limit: 1 } as const;
  const { backends } = await readPages<'backends', Backend>(api, call);
  if (backends.length === 0) throw unknownFilter(`no host manages the swarm ${swarm}`, '`deployctl host list`');
}

/** How many characters of the ids make each of them unique in the list. */
function uniqueLength(backends: readonly Backend[]): number {
  const shown = new Set(backends.map(({ id }) => shortId(id)));
  return shown.size === backends.length ? shortIdLength : Infinity;
}

function formatState({ state, locked_at, cloned_at, leftover }: Backend): string {
  const marks = [locked_at && 'locked', cloned_at && 'cloned', leftover && 'may still run'];
  return [state, ...marks.filter(Boolean)].join(', ');
}

function formatSwarmCell({ swarm = null }: Backend): string {
  return swarm === null ? '-' : `${swarm.id}${swarm.leader ? ' leader' : ''}`;
}

interface ListOptions extends HostFilter {
  sort?: string;
  reverse?: true;
  limit?: number;
}

/** `deployctl host lock|unlock`. */
function addBackendLock(backend: Command, run: Run): void {
  backend
    .command('lock')
    .description('Refuse all calls of a host from now on, and list the secrets that it could have read')
    .argument('<host>', hostArgument)
    .action(run(lockBackend));
  backend
    .command('unlock')
    .description('Accept the calls of a locked host again')
    .argument('<host>', hostArgument)
    .action(run(unlockBackend));
}

async function lockBackend(session: Session, [host]: [string]): Promise<Result> {
  const api = await session.api();
  const id = await hostIdOf(api, host);
  const locked = await api.call<BackendDetails>({ method: 'POST', path: path`/v1/backends/${id}/lock` });
  const { env } = locked;
  const call = { method: 'GET', path: path`/v1/envs/${env}/secrets` } as const;
  const keys = await api.call<{ secrets: SecretName[] }>(call).then(
    ({ secrets }) => secrets.map(({ key }) => key),
    (error: unknown) => {
      if (error instanceof CtlError) return error;
      throw error;
    },
  );
  const lines = [
    `host ${hostLabel(locked)} is locked: it gets no orders, bundles or secrets`,
    ...exposedLines(env, keys),
  ];
  return { json: { ...locked, exposed_secrets: keys instanceof CtlError ? null : keys }, text: lines.join('\n') };
}

/** The secrets that a host could have read, as commands that replace them. */
function exposedLines(env: string, keys: string[] | CtlError): string[] {
  if (keys instanceof CtlError)
    return [`the secrets that it could have read cannot be listed (${keys.message}): deployctl secret list ${env}`];
  if (keys.length === 0) return [`environment ${env} has no secrets that it could have read`];
  const commands = keys.map((key) => `  deployctl secret set ${env} ${key}`);
  return [
    `it could have read these secrets of environment ${env}; replace each at its source, then here:`,
    ...commands,
  ];
}

async function unlockBackend(session: Session, [host]: [string]): Promise<Result> {
  const api = await session.api();
  const id = await hostIdOf(api, host);
  const json = await api.call<BackendDetails>({ method: 'POST', path: path`/v1/backends/${id}/unlock` });
  return { json, text: `host ${hostLabel(json)} is not locked: it is served again` };
}
