import type { Swarm } from '../../adapters/swarm/swarm.ts';
import type { StackFacts } from '../../rules/swarm/stackTask.ts';
import type { Dependencies } from '../dependencies.ts';

/** What the services of a swarm work with. */
export interface SwarmDependencies {
  deps: Dependencies;
  swarm: Swarm;
}

/** What the swarm knows of the stack now. */
export async function readStack({ deps, swarm }: SwarmDependencies): Promise<StackFacts> {
  const [services, tasks, nodes] = await Promise.all([swarm.services(), swarm.tasks(), swarm.nodes()]);
  return { project: deps.project, services, tasks, nodes };
}
