import type { Backend, BackendDetails } from '../api/types.ts';

/** A row of the list of hosts. */
export interface HostRow<Host> {
  host: Host;
  /** Another manager of its swarm stands above it, with what all of them are to run. */
  isNested: boolean;
}

type ListedHost = Pick<Backend, 'id' | 'env' | 'swarm'>;

/** Hosts in their order, but the managers of a swarm together where the first of them stands, the leader first. */
export function rowsOf<Host extends ListedHost>(hosts: readonly Host[]): HostRow<Host>[] {
  const groups = Map.groupBy(hosts, ({ id, env, swarm }) => (swarm === null ? id : `${env} ${swarm.id}`));
  return [...groups.values()].flatMap((group) =>
    group.toSorted(byLeader).map((host, index) => ({ host, isNested: index > 0 })),
  );
}

function byLeader({ swarm: one }: ListedHost, { swarm: other }: ListedHost): number {
  return Number(other?.leader ?? false) - Number(one?.leader ?? false);
}

/** Whether what a host runs stays when it is retired: other managers of its swarm run on. */
export function isShared({ managers }: Pick<BackendDetails, 'managers'>): boolean {
  return managers.some(({ state }) => state !== 'retiring');
}
