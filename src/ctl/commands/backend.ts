import { Option, type Command } from 'commander';
import type { ToldHold } from '../../protocol/checkIn.ts';
import { parseLabels } from '../../protocol/labels.ts';
import { path } from '../api/path.ts';
import type { Backend, BackendDetails, PendingStep } from '../api/types.ts';
import { usageError } from '../ctlError.ts';
import { formatLabels } from '../input/labels.ts';
import { collectOption } from '../input/options.ts';
import { formatHealth } from '../output/health.ts';
import { formatFacts } from '../output/table.ts';
import { formatTime } from '../output/times.ts';
import type { Result, Run, Session } from '../session.ts';
import { addBackendList } from './backendList.ts';

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
