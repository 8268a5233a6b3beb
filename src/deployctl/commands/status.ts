import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, path, readPages } from '../core/client.ts';
import { exits } from '../core/ctlError.ts';
import { formatAge, formatFacts, formatTable, formatTime, hostArgument, shortSha } from '../core/table.ts';
import type { Backend, Bundle, Env, EnvDetails } from '../core/types.ts';
import {
  findFailures,
  formatProgress,
  hasApplied,
  isAsleep,
  namesOf,
  newestFailure,
  newestRollout,
  obstacleOf,
  reasonOf,
} from './convergence.ts';

/** `deployctl status`. */
export function addStatus(program: Command, run: Run): void {
  program
    .command('status')
    .description('Show what runs where, what is wrong and what to do; exit code 1 if something is wrong')
    .argument('[env]', 'name of an environment; by default all that you may see')
    .action(run(status));
}

function status(session: Session, [env]: [string | undefined]): Promise<Result> {
  return env === undefined ? showAll(session) : showEnv(session, env);
}

/** The states of a host, the worst first, and the command that helps. */
const states = [
  ['failed', 'deployctl reports HOST'],
  ['refused', 'deployctl reports HOST'],
  ['unhealthy', 'deployctl reports HOST'],
  ['cloned', 'deployctl host accept HOST'],
  ['locked', 'deployctl host unlock HOST'],
  ['offline', 'deployctl host show HOST'],
  ['health unknown', 'deployctl host show HOST'],
  ['held', 'deployctl host show HOST'],
  ['waits for window', 'deployctl host show HOST'],
  ['differs', 'deployctl host show HOST'],
  ['may still run', 'deployctl host show HOST'],
  ['not applied yet', 'deployctl wait ENV'],
] as const;

type HostState = (typeof states)[number][0] | 'asleep' | 'never seen' | 'leaving' | 'ok';

/** The worst that is known of a host. */
function stateOf(backend: Backend, isEmergency: boolean, nowMs: number): HostState {
  const { state, trouble, locked_at, cloned_at, healthy, desired_sha, applied_sha, differs, leftover } = backend;
  if (leftover) return 'may still run';
  if (state === 'retired' || state === 'retiring' || state === 'finishing') return 'leaving';
  if (state === 'created' || state === 'invited') return 'never seen';
  if (cloned_at) return 'cloned';
  if (locked_at) return 'locked';
  const word = states.find(([each]) => each === trouble)?.[0];
  if (word !== undefined && state !== 'offline') return word;
  if (isAsleep(backend, nowMs)) return 'asleep';
  if (state === 'offline') return 'offline';
  if (healthy === false) return 'unhealthy';
  if (healthy === null) return 'health unknown';
  const obstacle = obstacleOf(backend, isEmergency, nowMs);
  if (obstacle?.word === 'held' || obstacle?.word === 'waits for window') return obstacle.word;
  if (desired_sha !== null && desired_sha !== applied_sha) return 'not applied yet';
  return differs ? 'differs' : 'ok';
}

/** The fault of an environment itself, apart from its hosts; null for none. */
function faultOf(
  { held_since, desired_sha }: Pick<Env, 'held_since' | 'desired_sha'>,
  rollout: { state: string } | null,
) {
  if (held_since) return 'held';
  if (rollout !== null) return `rollout ${rollout.state}`;
  return desired_sha === null ? 'nothing desired' : null;
}

/** The command that shows or cures what is wrong with an environment. */
function nextOf(env: string, fault: string): string {
  if (fault === 'held') return `deployctl restore review ${env}`;
  if (fault.startsWith('rollout ')) return `deployctl rollout show ${env}`;
  return fault === 'nothing desired' ? `deployctl bundle list --env ${env}` : `deployctl status ${env}`;
}

/**
 * The status of an environment in a word: its fault, or `waiting` while laptops are asleep or hosts were never seen, whose
 * state nobody knows; otherwise `ok`.
 */
function wordFor(fault: string | null, counted: Iterable<HostState>): string {
  if (fault !== null) return fault;
  return [...counted].some((state) => state === 'asleep' || state === 'never seen') ? 'waiting' : 'ok';
}

async function listHosts(api: Api, env: string | undefined): Promise<Backend[]> {
  const query = { env, state: 'created,invited,active,offline,retiring,finishing' };
  const call = { path: '/v1/backends', query, key: 'backends', cursor: 'after', limit: Infinity } as const;
  return (await readPages<'backends', Backend>(api, call)).backends;
}

/** One line for each environment, those with faults first. */
async function showAll(session: Session): Promise<Result> {
  const api = await session.api();
  const [{ envs }, fleet, hosts] = await Promise.all([
    api.call<{ envs: Env[] }>({ method: 'GET', path: '/v1/envs' }),
    api.call<{ envs: { name: string; rollout: { state: string } | null }[] }>({ method: 'GET', path: '/v1/fleet' }),
    listHosts(api, undefined),
  ]);
  const lines = envs.map((env) => {
    const rollout = fleet.envs.find(({ name }) => name === env.name)?.rollout ?? null;
    const own = hosts.filter((host) => host.env === env.name);
    const counted = own.map((host) => stateOf(host, false, session.nowMs));
    const present = own.filter(({ state }) => state === 'active' || state === 'offline');
    const fault = faultOf(env, rollout) ?? states.find(([state]) => counted.includes(state))?.[0] ?? noHosts(own);
    return { env, counted, present, fault, word: wordFor(fault, counted) };
  });
  const sorted = lines.toSorted((one, other) => Number(one.fault === null) - Number(other.fault === null));
  const rows = sorted.map(({ env, counted, present, fault, word }) => [
    env.name,
    word,
    `${present.filter(hasApplied).length} of ${present.length}`,
    formatCounts(counted) || '-',
    shortSha(env.desired_sha),
    formatAge(env.desired_since ?? null, session.nowMs),
    fault === null ? '-' : nextOf(env.name, fault),
  ]);
  const json = sorted.map(({ env: { name, desired_sha, desired_since = null }, counted, fault, word }) => ({
    ...{ env: name, ok: word === 'ok', status: word, fault, desired_sha, desired_since },
    hosts: Object.fromEntries([...groupBy(counted, (state) => state)].map(([state, all]) => [state, all.length])),
  }));
  return {
    json: { envs: json },
    text: formatTable(['ENV', 'STATUS', 'RUN IT', 'OTHERS', 'DESIRED', 'SINCE', 'NEXT'], rows, session.width),
    exit: json.every(({ fault }) => fault === null) ? exits.done : exits.failed,
  };
}

/** Groups items by a key. Node.js 20 has no such function. */
function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function noHosts(hosts: readonly Backend[]): string | null {
  return hosts.some(({ state }) => state === 'active') ? null : 'no active host';
}

/** `2 failed, 1 offline`, the worst first. */
function formatCounts(counted: readonly HostState[]): string {
  const names: HostState[] = [...states.map(([state]) => state), 'asleep', 'never seen', 'leaving'];
  const counts = names.map((name) => [counted.filter((state) => state === name).length, name] as const);
  return counts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count} ${name}`)
    .join(', ');
}

/** One screen about an environment. */
async function showEnv(session: Session, name: string): Promise<Result> {
  const { nowMs, width } = session;
  const api = await session.api();
  const env = await api.call<EnvDetails>({ method: 'GET', path: path`/v1/envs/${name}` });
  const [newest, hosts] = await Promise.all([newestRollout(api, name), listHosts(api, name)]);
  const rollout = newest !== null && !['done', 'aborted'].includes(newest.state) ? newest : null;
  const isEmergency = env.desired?.emergency === true;
  const byState = groupBy(hosts, (host) => stateOf(host, isEmergency, nowMs));
  const failed = await findFailures(api, hosts, newestFailure);
  const fault = faultOf(env, rollout) ?? states.find(([state]) => byState.has(state))?.[0] ?? noHosts(hosts);
  const word = wordFor(fault, byState.keys());
  const reasons = new Map(failed.map(({ host, report }) => [host.id, reasonOf(report)]));
  const facts = formatFacts([
    ['environment', name],
    ['status', word],
    [
      'desired',
      env.desired_sha === null ? 'nothing' : `${nameOf(env.desired ?? null, env.desired_sha)}${sinceText(env, nowMs)}`,
    ],
    [
      'rollout',
      rollout &&
        `${nameOf(null, rollout.sha256)}, ${formatProgress(rollout)}, since ${formatTime(rollout.state_since, nowMs)}`,
    ],
    [
      'awaits',
      env.newest?.signature === 'awaiting signature'
        ? `${nameOf(env.newest, env.newest.sha256)} awaits signatures`
        : null,
    ],
    ...(fault !== null && faultOf(env, rollout) === fault ? [['next', nextOf(name, fault)] as [string, string]] : []),
  ]);
  const runs = formatTable(['RUNS', 'HOSTS', 'SINCE', 'WHICH'], runRows(hosts, env, nowMs), width);
  const wrong = states.flatMap(([state, cure]) =>
    wrongRows(byState.get(state) ?? [], { state, cure, env: name, reasons }),
  );
  const quiet = (['asleep', 'never seen', 'leaving'] as const).flatMap((state) => {
    const own = byState.get(state) ?? [];
    return own.length === 0 ? [] : [[state, String(own.length), namesOf(own), '-', '-']];
  });
  const rows = [...wrong, ...quiet];
  const table = rows.length === 0 ? [] : ['', formatTable(['STATE', 'HOSTS', 'WHICH', 'WHY', 'NEXT'], rows, width)];
  const counts = Object.fromEntries([...byState].map(([state, own]) => [state, own.map(({ id }) => id)]));
  return {
    json: {
      env: name,
      ok: word === 'ok',
      status: word,
      fault,
      desired: env.desired ?? null,
      desired_since: env.desired_since ?? null,
      rollout,
      hosts: counts,
    },
    text: [facts, '', runs, ...table].join('\n'),
    exit: fault === null ? exits.done : exits.failed,
  };
}

function nameOf(bundle: Bundle | null, sha256: string): string {
  return bundle === null ? shortSha(sha256) : `${bundle.name} ${bundle.version} (${shortSha(sha256)})`;
}

function sinceText({ desired_since = null }: EnvDetails, nowMs: number): string {
  return desired_since === null ? '' : `, since ${formatTime(desired_since, nowMs)}`;
}

/** How many hosts run each bundle, the desired one first, and since when all of them do. */
function runRows(hosts: readonly Backend[], env: EnvDetails, nowMs: number): string[][] {
  const seen = hosts.filter(({ last_seen_at }) => last_seen_at !== null);
  const groups = [...groupBy(seen, ({ applied_sha }) => applied_sha)].toSorted(
    ([one, some], [other, more]) =>
      Number(other === env.desired_sha) - Number(one === env.desired_sha) || more.length - some.length,
  );
  return groups.map(([sha, own]) => {
    const bundle = [env.desired, env.newest].find((each) => each?.sha256 === sha) ?? null;
    const since = own.map(({ applied_since = null }) => applied_since ?? '').toSorted();
    const newest = since.includes('') ? null : (since.at(-1) ?? null);
    return [sha === null ? 'nothing' : nameOf(bundle, sha), String(own.length), formatAge(newest, nowMs), namesOf(own)];
  });
}

interface Wrong {
  state: string;
  cure: string;
  env: string;
  /** Why hosts fail, by id. */
  reasons: ReadonlyMap<string, string>;
}

/** Hosts in a state, together if the reason is the same. */
function wrongRows(hosts: readonly Backend[], { state, cure, env, reasons }: Wrong): string[][] {
  const groups = groupBy(hosts, (host) => reasons.get(host.id) ?? (state === 'differs' ? (host.differs ?? '-') : '-'));
  return [...groups].map(([reason, own]) => {
    const [first] = own;
    const next = cure.replace('HOST', first === undefined ? 'HOST' : hostArgument(first)).replace('ENV', env);
    return [state, String(own.length), namesOf(own), reason, next];
  });
}
