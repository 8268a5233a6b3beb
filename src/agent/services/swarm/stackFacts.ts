import type { SwarmAdapters } from '../../adapters/swarm/openSwarm.ts';
import type { StackFacts } from '../../rules/swarm/stackTask.ts';
import type { SharedState } from '../../adapters/swarm/sharedState.ts';
import type { Dependencies, ObserverDependencies } from '../dependencies.ts';

/** What the services of a swarm work with. */
export interface SwarmDependencies extends SwarmAdapters {
  deps: Dependencies;
  state: SharedState;
  /** The digest of each image of the bundle that is being applied, by its reference. */
  digests: Map<string, string>;
  /** Names of the contents that the stack mounts, as it was deployed last. */
  mounted: Set<string>;
}

/** What an observation of a swarm works with. */
export interface SwarmObserver {
  deps: ObserverDependencies;
  swarm: SwarmAdapters['swarm'];
  state: Pick<SharedState, 'record'>;
}

/** What the swarm knows of the stack now. */
export async function readStack({ deps, swarm }: SwarmObserver): Promise<StackFacts> {
  const [services, tasks, nodes] = await Promise.all([swarm.services(), swarm.tasks(), swarm.nodes()]);
  return { project: deps.project, services, tasks, nodes };
}
