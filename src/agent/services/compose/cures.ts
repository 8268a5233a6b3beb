import { Fault } from '../../../../machines/fault.ts';
import { isInterruption } from '../../../../machines/outcomes.ts';
import type { ServiceProblem } from '../../../../machines/types.ts';
import type { ComposeRelease } from '../../adapters/compose/compose.ts';
import type { CreatedContainer } from '../../rules/createdContainers/createdContainer.ts';
import type { ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { namespacesOf, nextRestarts, serviceEdgesOf } from '../../rules/release/serviceEdges.ts';
import type { Dependencies } from '../dependencies.ts';
import { removeKeepingVolumes } from './createdContainers.ts';

/**
 * The services of a release with their edges. Where an older version wrote the record, compose renders the model, if containers
 * or finished one-shots show that there may be edges.
 */
export async function linkedServicesOf(
  deps: Dependencies,
  { record, release, created }: { record: ReleaseRecord; release: ComposeRelease; created: CreatedContainer[] },
  signal: AbortSignal,
): Promise<ReleaseRecord['services']> {
  const { services, jobs = [] } = record;
  const mayHaveEdges = jobs.length > 0 || created.some(showsEdges);
  if (!mayHaveEdges || services.every(({ joins }) => joins !== undefined)) return services;
  const model = await deps.compose.renderModel(release, signal).catch((error: unknown) => {
    if (!(error instanceof Fault) || isInterruption(error)) throw error;
    return {};
  });
  const edges = serviceEdgesOf(model);
  return services.map((service) => ({ ...service, ...edges.get(service.name) }));
}

/** True for a container with a namespace of another one, or with a dependency that restarts it, by compose's label. */
function showsEdges({ Config, HostConfig }: CreatedContainer): boolean {
  const { NetworkMode = '', PidMode = '', IpcMode = '' } = HostConfig;
  const dependencies = Config.Labels?.['com.docker.compose.depends_on'] ?? '';
  return [NetworkMode, PidMode, IpcMode].some((mode) => mode.startsWith('container:')) || /:true\b/.test(dependencies);
}

/** Removes the containers that compose has to create again, and restarts those that run but do not work. */
export async function prepareCures(deps: Dependencies, problems: readonly ServiceProblem[]): Promise<void> {
  const idsOf = (cure: ServiceProblem['cure']) =>
    new Set(problems.filter((problem) => problem.cure === cure).flatMap((problem) => problem.containers));
  const recreated = idsOf('recreate');
  if (recreated.size > 0) {
    const created = await deps.containers.inspectProject();
    for (const container of created.containers.filter(({ Id }) => recreated.has(Id)))
      await removeKeepingVolumes(deps, container, created);
  }
  for (const id of idsOf('restart')) await deps.containers.restartContainer(id);
}

/**
 * Restarts running containers that hang on one that was started after them (spec §7.10), in the order of dependencies: compose
 * does not where the dependency was started and not created again.
 */
export async function restartDependents(
  { containers, tick }: Dependencies,
  services: ReleaseRecord['services'],
): Promise<void> {
  const isLinked = services.some((service) => namespacesOf(service).length > 0 || service.restarts_with?.length);
  for (let round = 0; isLinked && round < services.length; round++) {
    const running = (await containers.list()).map(({ id, service, state, startedMs }) => {
      return { id, service, startedMs, isRunning: state === 'running' || state === 'restarting' };
    });
    const restarts = nextRestarts(services, running, tick.lastComposeUp.starts);
    if (restarts.length === 0) return;
    for (const { after, service, containers: ids } of restarts) {
      for (const id of ids) await containers.restartContainer(id);
      tick.journal.info(`restarted after ${after}: ${service}`);
    }
  }
}
