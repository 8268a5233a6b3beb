import { hostStates } from '../../../machines/backend.ts';
import type { BackendGroup, EnvRow, RolloutRow } from '../store/database.ts';
import type { Fleet } from './backendSchemas.ts';

/** What is desired in the envs that are counted. */
interface Desired {
  envs: readonly EnvRow[];
  rollouts: readonly RolloutRow[];
  of: (group: BackendGroup) => string | null;
}

/** 0.10 comes after 0.9. */
const byVersion = new Intl.Collator('en', { numeric: true });

/** Counts the backends of envs. */
export function countFleet(groups: readonly BackendGroup[], { envs, rollouts, of }: Desired): Fleet {
  const byEnv = Map.groupBy(groups, ({ env }) => env);
  const views = envs.map(({ name, production, desired_sha, rollout_id }) => {
    const own = byEnv.get(name) ?? [];
    const hosts = own.filter(isHost);
    const rollout = rollouts.find(({ id }) => id === rollout_id);
    return {
      ...{ name, production: production === 1, desired_sha, backends: sumBy(own, ({ state }) => state) },
      behind: sum(hosts.filter((group) => isBehind(group, of(group)))),
      sick: sum(hosts.filter(isSick)),
      deferred: sumBy(hosts, ({ deferred_by }) => deferred_by),
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

/** Groups without a key are left out. */
function sumBy<Key extends string>(groups: readonly BackendGroup[], keyOf: (group: BackendGroup) => Key | null) {
  const sums = [...Map.groupBy(groups, keyOf)].flatMap(([key, own]) =>
    key === null ? [] : [[key, sum(own)] as const],
  );
  return Object.fromEntries(sums) as Record<Key, number>;
}

function sum(groups: readonly BackendGroup[]): number {
  return groups.reduce((total, { backends }) => total + backends, 0);
}
