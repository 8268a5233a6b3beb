import { reportedContainerOf, type InspectedContainer, type ObservedContainer } from '../../rules/health/health.ts';
import { problemsOf } from '../../rules/health/unhealthyServices.ts';
import type { Dependencies, ObserverDependencies } from '../dependencies.ts';
import type { AppliedRelease, Observation } from '../orchestrator.ts';
import { crashProblems } from './crashProblems.ts';

/** Lists the containers of the project's services and judges them. */
export async function observe(deps: ObserverDependencies, applied: AppliedRelease | null): Promise<Observation> {
  const containers = await deps.containers.listStatuses();
  const found = applied === null ? {} : await findProblems(deps, containers, applied);
  return { containers: containers.map(reportedContainerOf), problems: [], ...found };
}

/** Only containers that the engine's list does not suffice to judge are inspected. */
async function findProblems(
  deps: ObserverDependencies,
  containers: ObservedContainer[],
  { services }: AppliedRelease,
): Promise<Pick<Observation, 'problems' | 'restarts'>> {
  const judged = await Promise.all(
    containers.map(async (container) => {
      const isUnhealthy = container.state === 'running' && container.health === 'unhealthy';
      return (isUnhealthy && !('startedMs' in container) && (await deps.containers.inspect(container))) || container;
    }),
  );
  const { problems, restarts } = await crashProblems(deps, judged);
  return { problems: [...problemsOf(judged, services, deps.settings.heal_unhealthy), ...problems], restarts };
}

/** The containers of the project's services; reuses those that were just found healthy. */
export async function currentContainers({ containers, tick }: Dependencies): Promise<InspectedContainer[]> {
  return tick.healthyContainers ?? containers.list();
}
