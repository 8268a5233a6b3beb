import { reportedContainerOf, type InspectedContainer, type ObservedContainer } from '../../rules/health/health.ts';
import type { ServiceProblem } from '../../../../machines/types.ts';
import type { ContainerStatus } from '../../adapters/engine/containers.ts';
import { deadNamespaces } from '../../rules/health/deadNamespaces.ts';
import { driftsAmong } from '../../rules/health/drift.ts';
import { problemsOf } from '../../rules/health/unhealthyServices.ts';
import { describeLoss, lostVolumes, volumesInDoubt, type LostVolume } from '../../rules/release/lostVolumes.ts';
import type { ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { namespacesOf } from '../../rules/release/serviceEdges.ts';
import type { Dependencies, ObserverDependencies } from '../dependencies.ts';
import type { AppliedRelease, Observation } from '../orchestrator.ts';
import { isProduction } from '../release/production.ts';
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
  containers: ContainerStatus[],
  { sha, services, finished }: AppliedRelease,
): Promise<Omit<Observation, 'containers'>> {
  const expected = containers.filter(({ service }) => finished?.has(service) !== true);
  const judged = await Promise.all(
    expected.map(async (container): Promise<ObservedContainer> => {
      const isUnhealthy = container.state === 'running' && container.health === 'unhealthy';
      return (isUnhealthy && !('startedMs' in container) && (await deps.containers.inspect(container))) || container;
    }),
  );
  const { problems: crashes, restarts } = await crashProblems(deps, judged);
  const record = deps.state.state.attempt === null ? await deps.releases.readRecord(sha) : null;
  const drifts = record === null ? [] : driftsAmong(containers, record, deps.settings.drift);
  const losses = record === null ? [] : await findLosses(deps, containers, { record, services });
  const namespaces = await namespaceProblems(deps, { judged, all: containers }, services);
  const drifted = new Set(drifts.flatMap(({ containers: ids }) => ids));
  const ofHealth = [...problemsOf(judged, services, deps.settings.heal_unhealthy), ...crashes, ...namespaces].filter(
    ({ containers: ids }) => ids.length === 0 || !ids.every((id) => drifted.has(id)),
  );
  return {
    problems: [...ofHealth, ...drifts, ...(await problemsOfLosses(deps, losses))],
    restarts,
    findings: [
      ...drifts.map(({ service, detail }) => `drift: ${service}: ${detail}`),
      ...losses.map((loss) => `volume lost: ${loss.services.join(', ')}: ${describeLoss(loss)}`),
    ],
    lostVolumes: losses,
  };
}

/** Inspects the containers that share namespaces of others, and those others. */
async function namespaceProblems(
  { containers }: ObserverDependencies,
  { judged, all }: { judged: ObservedContainer[]; all: ObservedContainer[] },
  services: AppliedRelease['services'],
): Promise<ServiceProblem[]> {
  const sharing = new Set(services.filter((each) => namespacesOf(each).length > 0).map(({ name }) => name));
  const suspects = judged.filter(({ service, shares }) => shares !== undefined || sharing.has(service));
  const inspect = async (container: ObservedContainer) =>
    'startedMs' in container ? container : containers.inspect(container);
  const members = (await Promise.all(suspects.map(inspect))).filter((each) => each !== null);
  const references = new Set(members.flatMap(({ shares = [] }) => shares.map(({ owner }) => owner)));
  const owners = new Map(
    await Promise.all(
      [...references].map(async (reference) => {
        const listed = all.find(({ id, name }) => id === reference || name === reference);
        return [reference, await (listed ? inspect(listed) : containers.inspect({ id: reference }))] as const;
      }),
    ),
  );
  return deadNamespaces(
    members,
    owners,
    (service, part) =>
      services.find(({ name }) => name === service)?.joins?.find((each) => each.part === part)?.service,
  );
}

/** Asks the engine for its volumes only when no container that mounted one is left. */
async function findLosses(
  { containers }: ObserverDependencies,
  present: ContainerStatus[],
  { record, services }: { record: ReleaseRecord; services: AppliedRelease['services'] },
): Promise<LostVolume[]> {
  const doubtful = volumesInDoubt(record, present, services);
  return doubtful.length === 0 ? [] : lostVolumes(doubtful, record, await containers.existingVolumes());
}

/** On a production env nothing is healed until an operator accepts the loss: a heal would create empty volumes. */
async function problemsOfLosses(deps: ObserverDependencies, losses: LostVolume[]): Promise<ServiceProblem[]> {
  if (losses.length === 0) return [];
  const isSafe = (await isProduction(deps, deps.state.state, false)) === false;
  return losses.flatMap((loss) =>
    loss.services.map((service): ServiceProblem => {
      const detail = isSafe
        ? describeLoss(loss)
        : `${describeLoss(loss)}; bring it back, or go on without its data: sudo deployd accept-volumes`;
      return { service, detail, cure: isSafe ? 'start' : 'accept', containers: [], isFailure: true };
    }),
  );
}

/** The containers of the project's services; reuses those that were just found healthy. */
export async function currentContainers({ containers, tick }: Dependencies): Promise<InspectedContainer[]> {
  return tick.healthyContainers ?? containers.list();
}
