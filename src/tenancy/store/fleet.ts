import { type ExpressionBuilder, type RawBuilder, sql } from 'kysely';
import { backend as lifeOfBackend, type BackendState, hostStates } from '../../../machines/backend.ts';
import type { Deferral } from '../../api/checkIn.rules.ts';
import type { BackendOrder, BackendPlace, BackendRow, Database, SortColumn } from './database.ts';
import type { Store } from './openStore.ts';

/** Filters of a list of backends; all must match. */
export interface BackendFilter {
  /** Null for all. */
  envs: readonly string[] | null;
  /** Null for all. */
  states: readonly BackendState[] | null;
  /**
   * A part of the host's name, of the site, of a label's value or of the agent's version, or the start of the id; ignores
   * case.
   */
  search: string | null;
  /** Only backends that this text names, see `isNamed`; null for all. */
  host: string | null;
  /** Only backends that run another bundle than the desired one. */
  isBehind: boolean;
  /** Only backends that are unhealthy, or whose newest report shows a problem. */
  isSick: boolean;
  /** Only backends whose token two hosts use. */
  isCloned: boolean;
  /** Only hosts that defer work for this reason; null for all. */
  deferredBy: Deferral | null;
  /** Only hosts whose settings differ from the recorded ones. */
  isDiffering: boolean;
  /** Only managers of this swarm; null for all. */
  swarmId: string | null;
}

/** A page of a list of backends. */
export interface BackendPage extends BackendFilter {
  order: BackendOrder;
  after: BackendPlace | null;
  limit: number;
}

/** A backend with the value that the list is sorted by. */
export type ListedBackend = BackendRow & { key: string | number };

export function listBackends(store: Store, page: BackendPage): Promise<ListedBackend[]> {
  return pageQuery(store, page).execute();
}

/** Counts the backends of some environments, or of all (null), in groups with equal values. */
export function countGroups(store: Store, envs: readonly string[] | null): Promise<BackendGroup[]> {
  return groupQuery(store, envs).execute();
}

/**
 * Selects a page. One index contains all columns of the filters, and every entry is read, whatever the filters: for 100
 * 000 backends this takes about 30 ms with SQLite, and 130 ms with PostgreSQL.
 */
export function pageQuery(store: Store, { order, after, limit, ...filter }: BackendPage) {
  const key = sortKeys[order.column];
  const direction = order.isDescending ? 'desc' : 'asc';
  const operator = sql.raw(order.isDescending ? '<' : '>');
  const following = after === null ? [] : [sql<boolean>`(${key}, id) ${operator} (${after.key}, ${after.id})`];
  const chosen = store
    .selectFrom('backends')
    .select(['id', key.as('key')])
    .where((where) => where.and([...conditions(where, filter), ...following]))
    .orderBy('key', direction)
    .orderBy('id', direction)
    .limit(limit);
  return store
    .selectFrom(chosen.as('chosen'))
    .innerJoin('backends', 'backends.id', 'chosen.id')
    .selectAll('backends')
    .select('chosen.key')
    .orderBy('chosen.key', direction)
    .orderBy('chosen.id', direction);
}

/** The index starts with the state. */
const allStates = Object.keys(lifeOfBackend.states) as BackendState[];

/**
 * Expressions instead of columns, so that the database does not walk another index and look up each row in the table.
 */
const sortKeys: Record<SortColumn, RawBuilder<string | number>> = {
  id: sql`lower(id)`,
  // Hosts without a name are listed by their site, with which the text for searches begins.
  host_name: sql`lower(case when host_name = '' then search else host_name end)`,
  site: sql`lower(search)`,
  state: sql`lower(state)`,
  last_seen_at: sql`coalesce(last_seen_at, 0)`,
  agent_version: sql`lower(agent_version)`,
};

type Where = ExpressionBuilder<Database, 'backends'>;

function conditions(where: Where, { envs, states, search, isBehind, isSick, ...filter }: BackendFilter) {
  const { host, isCloned, isDiffering, deferredBy, swarmId } = filter;
  return [
    where('state', 'in', states ?? allStates),
    ...(envs === null ? [] : [where('env', 'in', envs)]),
    ...(search === null ? [] : [matches(search.toLowerCase())]),
    ...(host === null ? [] : [isNamed(host.toLowerCase())]),
    ...(isBehind || isSick || isDiffering || deferredBy !== null ? [where('state', 'in', hostStates)] : []),
    ...(isBehind ? [isOutdated(where)] : []),
    ...(isCloned ? [where('cloned_at', 'is not', null)] : []),
    ...(swarmId === null ? [] : [where('swarm_id', '=', swarmId)]),
    ...(deferredBy === null ? [] : [where('deferred_by', '=', deferredBy)]),
    ...(isDiffering ? [where('differing', '=', 1)] : []),
    ...(isSick ? [where.or([where('healthy', '=', 0), where('trouble', 'is not', null)])] : []),
  ];
}

function matches(text: string) {
  const contains = `%${literal(text)}%`;
  return sql<boolean>`(search like ${contains} escape '\\' or lower(agent_version) like ${contains} escape '\\'
    or lower(host_name) like ${contains} escape '\\' or id like ${`${literal(text)}%`} escape '\\')`;
}

function literal(text: string): string {
  return text.replace(/[\\%_]/g, String.raw`\$&`);
}

/** Fewer characters of an id name no host: names such as `db` look like the start of an id. */
const MIN_ID_LENGTH = 8;

/**
 * A text names a host if it is the name of the host, or this name before its first dot, the name it was added by, or the
 * start of its id. None of them takes precedence, because hosts report their own names: a host that takes the name of
 * another makes it ambiguous.
 */
function isNamed(text: string) {
  const short = `${literal(text)}.%`;
  const byId = text.length < MIN_ID_LENGTH ? sql`` : sql`or id like ${`${literal(text)}%`} escape '\\'`;
  return sql<boolean>`(lower(host_name) = ${text} or lower(added_as) = ${text} or lower(host_name) like ${short} escape '\\' ${byId})`;
}

/**
 * Selects by the rule of `desiredShaOf` in src/tenancy/rollouts; a host without a desired bundle is not out of date.
 */
function isOutdated(where: Where) {
  const isOfEnv = sql`rollouts.id is null or (rollouts.state = 'halted' and rollouts.sha256 <> coalesce(applied_sha, ''))`;
  const desired = sql`case when ${isOfEnv} then envs.desired_sha else rollouts.sha256 end`;
  return where.exists(
    where
      .selectFrom('envs')
      .leftJoin('rollouts', (join) =>
        join
          .onRef('rollouts.id', '=', 'envs.rollout_id')
          .onRef('rollouts.id', '=', 'backends.rollout_id')
          .onRef('backends.rollout_wave', '<', 'rollouts.started'),
      )
      .select('envs.name')
      .whereRef('envs.name', '=', 'backends.env')
      .where(sql<boolean>`${desired} <> coalesce(applied_sha, '')`)
      .where(sql<boolean>`not ${isSame(desired)}`),
  );
}

/** True if the applied bundle differs from the desired one only by its sequence. */
function isSame(desired: RawBuilder<unknown>) {
  return sql<boolean>`exists (select 1 from bundles as one join bundles as other
    on other.sha256 = one.same_as or other.same_as = one.same_as
    where one.sha256 = ${desired} and other.sha256 = applied_sha)`;
}

const groupColumns = [
  ...(['state', 'env', 'healthy', 'trouble', 'agent_version', 'applied_sha', 'rollout_id', 'rollout_wave'] as const),
  ...(['deferred_by', 'differing'] as const),
];

/** Backends with the same values in all counted columns. */
export type BackendGroup = Pick<BackendRow, (typeof groupColumns)[number]> & { backends: number };

/** A host that may be in trouble. */
export type TroubledRow = Pick<BackendRow, (typeof troubleColumns)[number]>;

const troubleColumns = [
  ...(['id', 'env', 'host_name', 'site', 'laptop', 'state', 'state_since', 'healthy', 'trouble'] as const),
  ...(['trouble_since', 'trouble_reason', 'locked_at', 'cloned_at'] as const),
];

/**
 * Hosts of some environments, or of all (null), that may be in trouble, and how many there are. Unhealthy hosts and those
 * with a reported problem come first; environments take turns, so that none takes the places of the others.
 */
export async function listTroubled(
  store: Store,
  { envs, limit }: { envs: readonly string[] | null; limit: number },
): Promise<{ rows: TroubledRow[]; total: number }> {
  const rank = sql<number>`case when healthy = 0 or trouble is not null then 0 else 1 end`;
  const troubled = store
    .selectFrom('backends')
    .select([
      ...(['id', 'env'] as const),
      rank.as('rank'),
      sql<number>`row_number() over (partition by env, ${rank} order by id)`.as('place'),
      sql<number>`count(*) over ()`.as('total'),
    ])
    .where('state', 'in', hostStates)
    .where((where) =>
      where.or([
        ...[where('healthy', '=', 0), where('trouble', 'is not', null), where('state', '=', 'offline')],
        ...[where('locked_at', 'is not', null), where('cloned_at', 'is not', null)],
      ]),
    );
  const chosen = (envs === null ? troubled : troubled.where('env', 'in', envs)).as('chosen');
  const rows = await store
    .selectFrom(chosen)
    .innerJoin('backends', 'backends.id', 'chosen.id')
    .select(troubleColumns.map((column) => `backends.${column}` as const))
    .select('chosen.total')
    .orderBy('chosen.rank')
    .orderBy('chosen.place')
    .orderBy('chosen.env')
    .limit(limit)
    .execute();
  return { rows, total: rows[0]?.total ?? 0 };
}

/** Selects groups of backends, from the same index as pages. */
export function groupQuery(store: Store, envs: readonly string[] | null) {
  const query = store
    .selectFrom('backends')
    .select([...groupColumns, ({ fn }) => fn.countAll<number>().as('backends')])
    .groupBy(groupColumns);
  return envs === null ? query : query.where('state', 'in', allStates).where('env', 'in', envs);
}
