import { Option, type Command } from 'commander';
import { backend as lifeOfBackend } from '../../../machines/backend.ts';
import { readPages } from '../api/pages.ts';
import type { Backend } from '../api/types.ts';
import { countOption } from '../input/options.ts';
import { formatHealth } from '../output/health.ts';
import { shortSha } from '../output/sha.ts';
import { formatTable } from '../output/table.ts';
import { formatAge } from '../output/times.ts';
import type { Result, Run, Session } from '../session.ts';

const sortColumns = ['id', 'site', 'state', 'last_seen_at', 'agent_version'];

/** `deployctl backend list`. */
export function addBackendList(backend: Command, run: Run): void {
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
    ...(hasSwarms ? [formatSwarm(backend)] : []),
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

function formatSwarm({ swarm = null }: Backend): string {
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
