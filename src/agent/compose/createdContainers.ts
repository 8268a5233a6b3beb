import { failedFault, Fault, isInterruption } from '../../../machines/fault.ts';
import type { ServiceProblem } from '../../../machines/types.ts';
import type { ComposeRelease } from '../engine/compose.ts';
import type { MountedVolume } from '../engine/container.rules.ts';
import {
  anonymousVolumesOf,
  containerName,
  type CreatedContainer,
  type CreatedResources,
  replicaSlotOf,
  serviceOf,
} from '../engine/createdContainer.rules.ts';
import { placeholderHash } from '../health/drift.rules.ts';
import { createSecretHasher, readGrantedPrivileges } from '../release/fingerprints.ts';
import { expectedServices, type ReleaseRecord } from '../release/record.rules.ts';
import { namespacesOf, nextRestarts, referredServices, serviceEdgesOf } from '../release/services.rules.ts';
import { detachedVolumes, isAnonymous } from '../release/volumes.rules.ts';
import { compareWithModel, type Difference, formatDifferences } from './differences.rules.ts';
import type { ComposeDependencies } from './observe.ts';
import { isEngineRefusal } from '../engine/engineAnswer.rules.ts';

/** A release whose containers compose has created, and the call that creates missing ones. */
interface CreatedRelease {
  sha: string;
  release: ComposeRelease;
  create: () => Promise<void>;
  /** The containers that belong to the release; all by default. Others are left alone. */
  isOwn?: (container: CreatedContainer) => boolean;
}

/**
 * Compares the created containers and networks with the validated model before they start (spec §12). Compose copies mounts of
 * a replaced container, so differing containers are removed and created once more. If they still differ, they are removed and
 * `PRIVILEGED_REFUSED` is thrown.
 */
export async function enforceModel(
  deps: ComposeDependencies,
  { sha, release, create, isOwn = () => true }: CreatedRelease,
  signal: AbortSignal,
): Promise<CreatedResources> {
  const { containers, tick } = deps;
  const granted = await readGrantedPrivileges(deps, { sha, release }, signal);
  const compare = async (found: CreatedResources) => {
    const created = { ...found, containers: found.containers.filter((each) => !isHalfRemoved(each) && isOwn(each)) };
    const differences = compareWithModel(granted, created, { dir: release.dir, hide: (fact) => fact });
    return differences.length === 0
      ? differences
      : compareWithModel(granted, created, { dir: release.dir, hide: await createSecretHasher(deps) });
  };
  const first = await containers.inspectProject();
  const differences = await compare(first);
  if (differences.length === 0) return first;
  tick.journal.warn(`recreated, because it differs from the bundle: ${formatDifferences(differences)}`);
  await removeDiffering(deps, first, differences);
  await create();
  const second = await containers.inspectProject();
  const remaining = await compare(second);
  if (remaining.length === 0) return second;
  await removeDiffering(deps, second, remaining);
  throw failedFault('PRIVILEGED_REFUSED', `created resources differ from the bundle: ${formatDifferences(remaining)}`);
}

/**
 * Removes containers that a killed compose created only partially, and containers that cannot start because one of
 * their networks is gone; retries containers that the engine could not remove. Kept one-shots are created and not
 * started. Returns the services with a container that the engine cannot remove, with its fault.
 */
export async function removePartiallyCreated(
  deps: ComposeDependencies,
  created: CreatedResources,
  kept: readonly { service: string }[],
): Promise<ReadonlyMap<string, Fault>> {
  const isGone = await goneNetworks(deps, created);
  const isKept = (container: CreatedContainer) => kept.some(({ service }) => service === serviceOf(container));
  const volumeCountOf = (container: CreatedContainer) => anonymousVolumesOf(container, created.volumes).length;
  const partial = created.containers
    .filter((each) => isPartiallyCreated(each, isKept(each)) || networkIdsOf(each).some(isGone))
    .sort((one, other) => volumeCountOf(one) - volumeCountOf(other));
  const slots = created.containers.map(replicaSlotOf);
  const stuck = new Map<string, Fault>();
  for (const container of partial) {
    const slot = replicaSlotOf(container);
    const isAlone = slots.indexOf(slot) === slots.lastIndexOf(slot);
    if (!isAlone) slots.splice(slots.indexOf(slot), 1);
    const removal = isAlone
      ? removeKeepingVolumes(deps, container, created)
      : deps.containers.removeContainer(container.Id);
    await removal.catch((error: unknown) => stuck.set(serviceOf(container), removalFault(container, error)));
  }
  return stuck;
}

/** The fault of a removal that the engine refused, with the container's name; any other error is thrown. */
function removalFault(container: CreatedContainer, error: unknown): Fault {
  if (!(error instanceof Fault) || !isEngineRefusal(error)) throw error;
  const said = error.message.replace(`${error.code}: `, '');
  return failedFault(error.code ?? 'ENGINE_ERROR', `container ${containerName(container)} cannot be removed: ${said}`);
}

/** True if a network of a stopped container no longer exists. Podman does not list network ids. */
async function goneNetworks(
  { containers }: ComposeDependencies,
  created: CreatedResources,
): Promise<(id: string) => boolean> {
  const own = new Set(created.networks.map(({ id }) => id));
  const used = created.containers.flatMap(networkIdsOf).filter((id) => !own.has(id));
  if (created.isPodman || used.length === 0) return () => false;
  const existing = new Set((await containers.networks()).map(({ id }) => id));
  return (id) => !existing.has(id);
}

/** The networks that a container finds by id when it starts; the engine's own networks are found by name. */
function networkIdsOf({ NetworkSettings, State }: CreatedContainer): string[] {
  const attached = Object.entries(NetworkSettings.Networks ?? {});
  return attached.flatMap(([name, network]) =>
    State.Status === 'running' || /^(bridge|host|none)$/.test(name) ? [] : network?.NetworkID || [],
  );
}

/**
 * Removes the containers of services that the release does not run. Compose removes a service that its files lack, but
 * keeps one whose profiles are no longer active.
 */
export async function removeOtherServices(
  { containers }: ComposeDependencies,
  created: readonly CreatedContainer[],
  { services }: Pick<ReleaseRecord, 'services'>,
): Promise<void> {
  const names = new Set(services.map(({ name }) => name));
  const others = created.filter((container) => !names.has(serviceOf(container)));
  await Promise.all(
    others.map(async ({ Id, State }) => {
      if (State.Status === 'running') await containers.stopContainer(Id);
      await containers.removeContainer(Id);
    }),
  );
}

/**
 * True for a container that was never started, that still has the temporary name of a compose replacement, or that the
 * engine could not remove: it would never start again.
 */
function isPartiallyCreated(container: CreatedContainer, isKept: boolean): boolean {
  const isReplacement = /^[0-9a-f]{12}_/.test(containerName(container));
  return (container.State.Status === 'created' && !isKept) || isHalfRemoved(container) || isReplacement;
}

function isHalfRemoved({ State }: CreatedContainer): boolean {
  return State.Status === 'dead' || State.Status === 'removing';
}

async function removeDiffering(
  deps: ComposeDependencies,
  created: CreatedResources,
  differences: Difference[],
): Promise<void> {
  for (const container of new Set(differences.flatMap(({ containers }) => containers)))
    await removeKeepingVolumes(deps, container, created);
  for (const network of new Set(differences.flatMap((each) => each.network ?? [])))
    await deps.containers.removeNetwork(network.id);
}

/**
 * Removes a container so that compose creates it again and keeps only the data of its anonymous volumes. A placeholder
 * container that is never started keeps the volumes, and compose moves them to the new one. Throws `UP_FAILED` without
 * removing anything when the image of the placeholder is gone.
 */
export async function removeKeepingVolumes(
  { containers }: ComposeDependencies,
  container: CreatedContainer,
  created: CreatedResources,
): Promise<void> {
  const volumes = anonymousVolumesOf(container, created.volumes);
  if (container.State.Status === 'running') await containers.stopContainer(container.Id);
  if (volumes.length > 0) {
    const { Labels } = container.Config;
    const composeLabels = Object.entries(Labels ?? {}).filter(([name]) => name.startsWith('com.docker.compose.'));
    const isCreated = await createPlaceholder(containers, {
      name: `${container.Id.slice(0, 12)}_${containerName(container).replace(/^[0-9a-f]{12}_/, '')}`,
      image: container.Image,
      labels: Object.fromEntries(composeLabels),
      volumes,
    });
    if (!isCreated) throw imageGoneFault(container);
  }
  await containers.removeContainer(container.Id);
}

/** A container that is never started: it keeps volumes until compose moves them to a new container. */
interface Placeholder {
  name: string;
  image: string;
  labels: Record<string, string>;
  volumes: readonly MountedVolume[];
}

/** False if its image is missing. */
export async function createPlaceholder(
  containers: ComposeDependencies['containers'],
  { name, image, labels, volumes }: Placeholder,
): Promise<boolean> {
  const created = await containers.createContainer({
    name,
    Image: image,
    Cmd: ['true'],
    Labels: { ...labels, 'com.docker.compose.config-hash': placeholderHash },
    HostConfig: {
      NetworkMode: 'none',
      Mounts: volumes.map((volume) => ({ Type: 'volume', Source: volume.name, Target: volume.target })),
    },
  });
  return created !== null;
}

/**
 * Gives compose the anonymous volumes of recorded containers that somebody removed: without a container that mounts
 * them, compose would create empty ones. A container whose image is gone is left out, since compose would then pull the
 * image.
 */
export async function holdDetachedVolumes(
  { containers, project, releases }: ComposeDependencies,
  sha: string,
): Promise<void> {
  const record = await releases.readRecord(sha);
  const hasAnonymous = record?.volumes?.some(({ name }) => isAnonymous(name)) ?? false;
  if (record === null || !hasAnonymous) return;
  const { volumes } = await containers.existingVolumes();
  const awaited = referredServices(record.services).union(new Set(expectedServices(record).map(({ name }) => name)));
  const detached = detachedVolumes(record, await containers.listStatuses(), volumes);
  for (const { id, service, number, image, volumes: held } of detached.filter((each) => awaited.has(each.service)))
    await createPlaceholder(containers, {
      name: `${id.slice(0, 12)}_${project}-${service}-${number}`,
      image,
      labels: {
        'com.docker.compose.project': project,
        'com.docker.compose.service': service,
        'com.docker.compose.container-number': number,
        'com.docker.compose.oneoff': 'False',
      },
      volumes: held,
    });
}

function imageGoneFault(container: CreatedContainer): Fault {
  const line = `container ${containerName(container)} stays, as it alone holds data of anonymous volumes`;
  return failedFault('UP_FAILED', `${line}: its image ${container.Image} is gone`);
}

/**
 * The services of a release with their edges. Where an older version wrote the record, compose renders the model, if containers
 * or finished one-shots show that there may be edges.
 */
export async function linkedServicesOf(
  deps: ComposeDependencies,
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

/** Removes the containers that compose has to create again, and restarts containers that run but do not work. */
export async function prepareCures(deps: ComposeDependencies, problems: readonly ServiceProblem[]): Promise<void> {
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
 * Restarts running containers whose dependency was started after them (spec §7.10), in the order of dependencies.
 * Compose does not do this if the dependency was started without being created again.
 */
export async function restartDependents(
  { containers, memory, tick }: ComposeDependencies,
  services: ReleaseRecord['services'],
): Promise<void> {
  const isLinked = services.some((service) => namespacesOf(service).length > 0 || service.restarts_with?.length);
  for (let round = 0; isLinked && round < services.length; round++) {
    const running = (await containers.list()).map(({ id, service, state, startedMs }) => {
      return { id, service, startedMs, isRunning: state === 'running' || state === 'restarting' };
    });
    const restarts = nextRestarts(services, running, memory.lastComposeUp.starts);
    if (restarts.length === 0) return;
    for (const { after, service, containers: ids } of restarts) {
      for (const id of ids) await containers.restartContainer(id);
      tick.journal.info(`restarted after ${after}: ${service}`);
    }
  }
}
