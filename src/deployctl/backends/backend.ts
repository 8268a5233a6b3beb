import { type Command, Option } from 'commander';
import { backend as lifeOfBackend } from '../../../machines/backend.ts';
import type { ToldHold } from '../../protocol/checkIn.ts';
import { parseLabels } from '../../protocol/labels.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { usageError } from '../core/ctlError.ts';
import { readPages } from '../core/lists.ts';
import { collectOption, countOption, formatLabels } from '../core/options.ts';
import { formatAge, formatFacts, formatHealth, formatTable, formatTime, shortSha } from '../core/table.ts';
import type { Backend, BackendDetails, PendingStep } from '../core/types.ts';

/** `deployctl backend list|show|create|label`. */
export function addBackend(program: Command, run: Run): void {
  const backend = program
    .command('backend')
    .helpCommand(false)
    .description('the backends: hosts as the tenancy service knows them');
  addBackendList(backend, run);
  backend.command('show').description('one backend').argument('<id>', 'its id').action(run(showBackend));
  backend
    .command('create')
    .description('a new backend; `deployctl kit` reveals what its host is installed with')
    .requiredOption('--env <env>', 'the env that it belongs to')
    .requiredOption('--site <site>', 'where its host stands')
    .addOption(
      new Option('--transport <name>', 'how the host reaches the services')
        .choices(['sdk', 'proxy', 'system'])
        .default('system'),
    )
    .option('--laptop', 'being offline is normal for it')
    .option('--label <name=value>', 'by which waves of rollouts choose it; repeatable', collectOption)
    .action(run(createBackend));
  backend
    .command('label')
    .description('replace the labels of a backend, by which waves of rollouts choose it')
    .argument('<id>', 'its id')
    .argument('[labels...]', 'as NAME=VALUE; none to remove them all')
    .action(run(labelBackend));
}

async function showBackend(session: Session, [id]: [string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call<BackendDetails>({ method: 'GET', path: path`/v1/backends/${id}` });
  return { json, text: formatBackend(json, session.nowMs) };
}

async function createBackend(
  session: Session,
  _operands: [],
  { env, site, transport, laptop = false, label = [] }: NewBackendOptions,
): Promise<Result> {
  const labels = readLabels(label);
  const api = await session.api();
  const body = { env, site, laptop, transport, ...(label.length > 0 && { labels }) };
  const json = await api.call<BackendDetails>({ method: 'POST', path: '/v1/backends', json: body });
  return { json, text: formatBackend(json, session.nowMs) };
}

interface NewBackendOptions {
  env: string;
  site: string;
  transport: string;
  laptop?: boolean;
  label?: string[];
}

async function labelBackend(session: Session, [id, words]: [string, string[]]): Promise<Result> {
  const labels = readLabels(words);
  const api = await session.api();
  const call = { method: 'PUT', path: path`/v1/backends/${id}/labels`, json: { labels } } as const;
  const json = await api.call<BackendDetails>(call);
  return { json, text: formatBackend(json, session.nowMs) };
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

function formatManager({ id, site, state, leader }: NonNullable<BackendDetails['managers']>[number]): [string, string] {
  return ['manager', `${id}, site ${site}, ${state}${leader ? ', the leader' : ''}`];
}

function formatBackend(backend: BackendDetails, nowMs: number): string {
  const { env, site, transport, laptop, labels = {}, last_report: report } = backend;
  const { hold = null, window_opens_at: opening = null, swarm = null, managers = [] } = backend;
  return formatFacts([
    ['id', backend.id],
    ['host', `env ${env}, site ${site}, transport ${transport}${laptop ? ', laptop' : ''}`],
    ['labels', formatLabels(labels) || null],
    ['state', `${backend.state} since ${formatTime(backend.state_since, nowMs)}`],
    ['created', formatTime(backend.created_at, nowMs)],
    ['last seen', formatTime(backend.last_seen_at, nowMs)],
    ['agent', backend.agent_version],
    ['applied', backend.applied_sha ?? 'nothing'],
    ['desired', backend.desired_sha ?? 'nothing'],
    ['healthy', formatHealth(backend)],
    ['trouble', backend.trouble ?? null],
    ['held', hold && formatHold(hold, nowMs)],
    ['windows', opening && `closed, the next opens ${formatTime(opening, nowMs)}`],
    ['swarm', swarm && formatSwarm(swarm)],
    ...managers.map(formatManager),
    ['last report', report && `${report.outcome} (${report.reason}) at ${formatTime(report.received_at, nowMs)}`],
    ['', report?.detail ?? null],
    ['kits revealed', String(backend.generation)],
    ['volumes', backend.purge_volumes ? 'removed by its retirement' : null],
    ['finished', backend.finished.join(', ') || null],
    ...backend.pending_steps.map(formatStep),
  ]);
}

function formatStep({ step, tries, error }: PendingStep): [label: string, value: string] {
  return ['pending', error === null ? step : `${step}, tried ${tries} times: ${error}`];
}

const sortColumns = ['id', 'site', 'state', 'last_seen_at', 'agent_version'];

/** `deployctl backend list`. */
function addBackendList(backend: Command, run: Run): void {
  backend
    .command('list')
    .description('backends, by default in the order of their ids')
    .option('--env <env>', 'those of one env')
    .addOption(
      new Option('--state <state...>', 'those in one of these states').choices(Object.keys(lifeOfBackend.states)),
    )
    .option(
      '--search <text>',
      'those with it in their site, a label or the version of the agent, or at the beginning of the id',
    )
    .option('--behind', 'hosts that run another bundle than the desired one')
    .option('--sick', 'hosts that are unhealthy, or whose newest report tells of trouble')
    .addOption(new Option('--deferred-by <what>', 'hosts whose work this defers').choices(['hold', 'window']))
    .option('--swarm <id>', 'managers of this swarm')
    .addOption(new Option('--sort <column>', 'what they are sorted by').choices(sortColumns))
    .option('--reverse', 'in descending order')
    .option('--limit <count>', 'as many at most', countOption)
    .action(run(listBackends));
}

async function listBackends(
  session: Session,
  _operands: [],
  { limit = Infinity, ...options }: ListOptions,
): Promise<Result> {
  const query = queryOf(options);
  const call = { path: '/v1/backends', query, key: 'backends', cursor: 'after', limit } as const;
  const json = await readPages<'backends', Backend>(await session.api(), call);
  const { backends } = json;
  const hasSwarms = backends.some(({ swarm }) => swarm);
  const rows = backends.map((backend) => [
    backend.id,
    backend.env,
    backend.site,
    backend.state,
    formatAge(backend.last_seen_at, session.nowMs),
    backend.agent_version ?? '-',
    backend.trouble ?? formatHealth(backend),
    backend.deferred_by ?? '-',
    shortSha(backend.applied_sha),
    shortSha(backend.desired_sha),
    ...(hasSwarms ? [formatSwarmCell(backend)] : []),
  ]);
  const head = [
    'ID',
    'ENV',
    'SITE',
    'STATE',
    'SEEN',
    'AGENT',
    'HEALTHY',
    'DEFERRED',
    'APPLIED',
    'DESIRED',
    ...(hasSwarms ? ['SWARM'] : []),
  ];
  return { json, text: formatTable(head, rows, session.width) };
}

function formatSwarmCell({ swarm = null }: Backend): string {
  return swarm === null ? '-' : `${swarm.id}${swarm.leader ? ' leader' : ''}`;
}

interface ListOptions {
  env?: string;
  state?: string[];
  search?: string;
  behind?: true;
  sick?: true;
  deferredBy?: string;
  swarm?: string;
  sort?: string;
  reverse?: true;
  limit?: number;
}

/** What is not asked for is left out: a service of an older version knows `env` and one `state` alone. */
function queryOf({
  env,
  state,
  search,
  sort,
  reverse,
  ...conditions
}: ListOptions): Record<string, string | undefined> {
  const { behind, sick, deferredBy: deferred_by, swarm } = conditions;
  const order = reverse ? `-${sort ?? 'id'}` : sort;
  const condition = { behind: behind && 'true', sick: sick && 'true', deferred_by, swarm };
  return { env, state: state?.join(','), q: search, ...condition, sort: order };
}
