import { type BackendState, hostStates } from '../../../machines/backend.ts';
import type { Deferral } from '../../api/checkIn.rules.ts';
import { ApiError } from '../core/apiError.rules.ts';
import { backendCursorOf, backendPlaceOf, toPage, toTime } from '../core/lists.rules.ts';
import { type Operator, visibleEnvs } from '../core/permission.rules.ts';
import { desiredShaOf } from '../rollouts/rollout.rules.ts';
import { findGroups } from '../store/bundles.ts';
import { listActiveRollouts } from '../store/rollouts.ts';
import type { BackendOrder, BackendRow, EnvRow, RolloutRow, TroubleReason } from '../store/database.ts';
import { changeBackend, findSilent, listCloned } from '../store/backends.ts';
import { findBundleTrusts, listEnvs } from '../store/envs.ts';
import {
  type BackendGroup,
  countGroups,
  listBackends as selectBackends,
  listTroubled,
  type TroubledRow,
} from '../store/fleet.ts';
import type { Store } from '../store/openStore.ts';
import { announce } from '../webhooks/deliver.ts';
import type { Fleet, Trouble } from '../envs/envSchemas.ts';
import { outcomeOfTrouble } from '../webhooks/event.rules.ts';
import type { Backend } from './backendSchemas.ts';
import { groupTroubles, shareGroups, type TroubledHost } from './trouble.rules.ts';
import { expectedSettings } from '../bundles/bundleList.ts';
import { type BackendDependencies, backendView, type Promoted, silenceLimits } from './backendViews.ts';

/** Filters and order of a list of backends; omitted fields do not limit it. */
interface BackendsQuery {
  operator: Operator;
  env?: string | undefined;
  states?: readonly BackendState[] | undefined;
  search?: string | undefined;
  host?: string | undefined;
  isBehind?: boolean | undefined;
  isSick?: boolean | undefined;
  isCloned?: boolean | undefined;
  deferredBy?: Deferral | undefined;
  isDiffering?: boolean | undefined;
  swarmId?: string | undefined;
  order: BackendOrder;
  /** `next` cursor of the previous page. */
  after?: string | undefined;
  limit: number;
}

/**
 * A page of backends in the environments that the operator may see. Throws 400 if the cursor belongs to a list with
 * another order.
 */
export async function listBackends(
  deps: BackendDependencies,
  { operator, env, states, search = '', host, deferredBy, swarmId, ...page }: BackendsQuery,
): Promise<{ backends: Backend[]; next: string | null }> {
  const { order, limit, isBehind = false, isSick = false, isCloned = false, isDiffering = false } = page;
  const envs = env === undefined ? visibleEnvs(operator.permissions) : [env];
  const after = page.after === undefined ? null : backendPlaceOf(page.after, order.column);
  if (page.after !== undefined && after === null) {
    throw new ApiError({
      status: 400,
      code: 'REQUEST_INVALID',
      message: 'querystring.after is not a cursor of a list in this order',
    });
  }
  const filter = {
    envs,
    states: states ?? null,
    search: search === '' ? null : search,
    host: host ?? null,
    isBehind,
    isSick,
    isCloned,
    deferredBy: deferredBy ?? null,
    isDiffering,
    swarmId: swarmId ?? null,
  };
  const rows = await selectBackends(deps.store, { ...filter, order, after, limit: limit + 1 });
  const { items, last } = toPage(rows, limit);
  const desired = await readDesired(deps.store, envs);
  const trusts = await findBundleTrusts(deps.store, [...new Set(items.map((row) => row.env))]);
  const limits = silenceLimits(deps);
  return {
    backends: items.map((row) =>
      backendView(row, {
        desired: desired.of(row),
        limits,
        expected: expectedSettings(trusts.get(row.env) ?? null),
      }),
    ),
    next: last && backendCursorOf(last, order.column),
  };
}

/** Counts backends by version, state and health in the environments that an operator may see. */
export async function readFleet({ store }: { store: Store }, { permissions }: Operator): Promise<Fleet> {
  const names = visibleEnvs(permissions);
  const [groups, desired, cloned] = await Promise.all([
    countGroups(store, names),
    readDesired(store, names),
    listCloned(store, names),
  ]);
  return countFleet(groups, { ...desired, cloned });
}

/** Largest number of hosts to group, of groups, and of named hosts of a group. */
const troubleBounds = { hosts: 1000, groups: 40, named: 10 };

/** Hosts in trouble in an environment, or in all that an operator may see: by cause, the worst first. */
export async function readTrouble(
  { store }: { store: Store },
  { operator: { permissions }, env }: { operator: Operator; env?: string | undefined },
): Promise<Trouble> {
  const envs = env === undefined ? visibleEnvs(permissions) : [env];
  const { rows, total } = await listTroubled(store, { envs, limit: troubleBounds.hosts });
  const groups = groupTroubles(rows.map(troubledHost));
  const shown = shareGroups(groups, troubleBounds.groups);
  return {
    groups: shown.map(({ hosts, since, ...group }) => ({
      ...group,
      since: toTime(since),
      count: hosts.length,
      hosts: hosts.slice(0, troubleBounds.named).map(({ id, host_name, site }) => ({ id, host_name, site })),
    })),
    more_groups: groups.length - shown.length,
    more_hosts: total - rows.length,
    complete: total === rows.length && groups.length === shown.length,
  };
}

function troubledHost({ trouble_since: since, trouble_reason: reason, ...row }: TroubledRow): TroubledHost {
  return {
    ...row,
    host_name: row.host_name || null,
    laptop: row.laptop === 1,
    healthy: row.healthy !== 0,
    trouble: row.trouble && outcomeOfTrouble(row.trouble),
    troubled_since: since,
    reason: reason === null ? null : (JSON.parse(reason) as TroubleReason),
  };
}

/** Counts the hosts of each environment with recorded settings whose own settings differ. */
export async function countDiffering(store: Store): Promise<Record<string, number>> {
  const [trusts, groups] = await Promise.all([findBundleTrusts(store, null), countGroups(store, null)]);
  const differing = groups.filter((group) => isHost(group) && group.differing === 1);
  const countOf = (env: string) => sum(differing.filter((group) => group.env === env));
  return Object.fromEntries([...trusts.keys()].map((env) => [env, countOf(env)]));
}

/** The desired bundles of the counted environments. */
interface Desired {
  envs: readonly EnvRow[];
  rollouts: readonly RolloutRow[];
  of: (group: BackendGroup) => Promoted;
  /** Backends with a conflict between hosts. */
  cloned: readonly { env: string }[];
}

/** 0.10 comes after 0.9. */
const byVersion = new Intl.Collator('en', { numeric: true });

/** Counts the backends of environments. */
function countFleet(groups: readonly BackendGroup[], { envs, rollouts, of, cloned }: Desired): Fleet {
  const byEnv = Map.groupBy(groups, ({ env }) => env);
  const views = envs.map(({ name, production, desired_sha, rollout_id, held_since }) => {
    const own = byEnv.get(name) ?? [];
    const hosts = own.filter(isHost);
    const rollout = rollouts.find(({ id }) => id === rollout_id);
    return {
      ...{ name, production: production === 1, desired_sha, backends: sumBy(own, ({ state }) => state) },
      held_since: held_since === null ? null : toTime(held_since),
      behind: sum(hosts.filter((group) => isBehind(group, of(group).sha256))),
      sick: sum(hosts.filter(isSick)),
      cloned: cloned.filter(({ env }) => env === name).length,
      deferred: sumBy(hosts, ({ deferred_by }) => deferred_by),
      differing: sum(hosts.filter(({ differing }) => differing === 1)),
      rollout: rollout ? { id: rollout.id, state: rollout.state } : null,
    };
  });
  const versions = sumBy(groups.filter(isHost), ({ agent_version }) => agent_version);
  const agents = Object.entries(versions).map(([version, hosts]) => ({ version, hosts }));
  return { envs: views, agents: agents.toSorted((one, other) => byVersion.compare(other.version, one.version)) };
}

function isHost({ state }: BackendGroup): boolean {
  return hostStates.includes(state);
}

function isBehind({ applied_sha }: BackendGroup, desiredSha: string | null): boolean {
  return desiredSha !== null && desiredSha !== applied_sha;
}

function isSick({ healthy, trouble }: BackendGroup): boolean {
  return healthy === 0 || trouble !== null;
}

/** Sums the groups by key; groups without a key are omitted. */
function sumBy<Key extends string>(groups: readonly BackendGroup[], keyOf: (group: BackendGroup) => Key | null) {
  const sums = [...Map.groupBy(groups, keyOf)].flatMap(([key, own]) =>
    key === null ? [] : [[key, sum(own)] as const],
  );
  return Object.fromEntries(sums) as Record<Key, number>;
}

function sum(groups: readonly BackendGroup[]): number {
  return groups.reduce((total, { backends }) => total + backends, 0);
}

/** Largest number of backends to change in one round. */
const BACKENDS_PER_ROUND = 500;

/** Marks backends as offline whose hosts have been silent for too long. */
export async function markSilentBackends({ store, settings, clock }: BackendDependencies): Promise<void> {
  const now = clock();
  const seenBefore = {
    servers: now - settings.offline_after_s * 1000,
    laptops: now - settings.laptop_offline_after_s * 1000,
  };
  for (const id of await findSilent(store, seenBefore, BACKENDS_PER_ROUND)) {
    await store.transaction().execute(async (work) => {
      const backend = await changeBackend(work, id, {
        event: { type: 'MISS_CHECK_INS' },
        now,
        when: ({ laptop, last_seen_at }) =>
          (last_seen_at ?? now) < (laptop === 1 ? seenBefore.laptops : seenBefore.servers),
      });
      if (backend !== null) await announce(work, { type: 'backend.offline', now, env: backend.env, backend });
    });
  }
}

/** The desired bundles of some environments. */
interface DesiredBundles {
  /** By name. */
  envs: EnvRow[];
  /** Rollouts that are neither done nor aborted. */
  rollouts: RolloutRow[];
  /** Returns the desired bundle of a backend in these environments. */
  of: (backend: Pick<BackendRow, 'env' | 'rollout_id' | 'rollout_wave' | 'applied_sha'>) => Promoted;
}

/** Reads the desired bundles of some environments, or of all (null). */
export async function readDesired(store: Store, names: readonly string[] | null): Promise<DesiredBundles> {
  const [envs, rollouts] = await Promise.all([listEnvs(store, names), listActiveRollouts(store, names)]);
  const byName = new Map(envs.map((env) => [env.name, env]));
  const byId = new Map(rollouts.map((rollout) => [rollout.id, rollout]));
  const targets = [...envs.map((env) => env.desired_sha), ...rollouts.map(({ sha256 }) => sha256)];
  const groups = await findGroups(store, [...new Set(targets.filter((sha256) => sha256 !== null))]);
  return {
    envs,
    rollouts,
    of: ({ env, rollout_id, rollout_wave, applied_sha: appliedSha }) => {
      const rollout = byId.get(rollout_id ?? '') ?? null;
      const joined = rollout !== null && rollout_wave !== null && rollout_wave < rollout.started ? rollout : null;
      const group = groups.get(appliedSha ?? '');
      if (group !== undefined && joined !== null && group === groups.get(joined.sha256))
        return { sha256: appliedSha, since: joined.created_at };
      const { desired_sha: envSha = null, desired_since = null } = byName.get(env) ?? {};
      const sha256 = desiredShaOf({ envSha, joined, appliedSha });
      const since = joined !== null && sha256 === joined.sha256 ? joined.created_at : desired_since;
      const isCopy = group !== undefined && group === groups.get(sha256 ?? '');
      return { sha256: isCopy ? appliedSha : sha256, since };
    },
  };
}
