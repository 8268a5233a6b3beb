import { reportedContainerOf, type InspectedContainer, type ObservedContainer } from '../../rules/health/health.ts';
import { unhealthyServicesOf } from '../../rules/health/unhealthyServices.ts';
import type { Dependencies } from '../dependencies.ts';
import type { AppliedRelease, Observation } from '../orchestrator.ts';
import { crashedServices } from './crashedServices.ts';

/** Lists the containers of the project's services and judges them. */
export async function observe(deps: Dependencies, applied: AppliedRelease | null): Promise<Observation> {
  const containers = await deps.containers.listStatuses();
  const unhealthyServices = applied === null ? [] : await findUnhealthyServices(deps, containers, applied);
  return { containers: containers.map(reportedContainerOf), unhealthyServices };
}

async function findUnhealthyServices(
  deps: Dependencies,
  containers: ObservedContainer[],
  { services }: AppliedRelease,
): Promise<string[]> {
  const names = [...unhealthyServicesOf(containers, services), ...(await crashedServices(deps, containers))];
  return [...new Set(names)].sort();
}

/** The containers of the project's services; reuses those that were just found healthy. */
export async function currentContainers({ containers, tick }: Dependencies): Promise<InspectedContainer[]> {
  return tick.healthyContainers ?? containers.list();
}
