import { failedFault, Fault } from '../../../../machines/fault.ts';
import type { ComposeRelease } from '../../adapters/compose/compose.ts';
import {
  anonymousVolumesOf,
  containerName,
  replicaSlotOf,
  serviceOf,
  type CreatedContainer,
  type CreatedResources,
} from '../../rules/createdContainers/createdContainer.ts';
import { placeholderHash } from '../../rules/health/drift.ts';
import { detachedVolumes, isAnonymous } from '../../rules/release/lostVolumes.ts';
import { referredServices } from '../../rules/release/serviceEdges.ts';
import { expectedServices, type MountedVolume, type ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { formatDifferences, compareWithModel, type Difference } from '../../rules/createdContainers/differences.ts';
import { readGrantedPrivileges, createSecretHasher } from '../release/grantedPrivileges.ts';
import type { Dependencies } from '../dependencies.ts';

/** A release whose containers compose has created, and the call that creates missing ones. */
interface CreatedRelease {
  sha: string;
  release: ComposeRelease;
  create: () => Promise<void>;
}

/**
 * Compares the created containers and networks with the validated model before they start (spec §12). Compose copies mounts of
 * a replaced container, so differing containers are removed and created once more. If they still differ, they are removed and
 * `PRIVILEGED_REFUSED` is thrown.
 */
export async function enforceModel(
  deps: Dependencies,
  { sha, release, create }: CreatedRelease,
  signal: AbortSignal,
): Promise<CreatedResources> {
  const { containers, tick } = deps;
  const granted = await readGrantedPrivileges(deps, { sha, release }, signal);
  const compare = async (found: CreatedResources) => {
    const created = { ...found, containers: found.containers.filter((each) => !isHalfRemoved(each)) };
    const differences = compareWithModel(granted, created, { dir: release.dir, hide: (fact) => fact });
    return differences.length === 0
      ? differences
      : compareWithModel(granted, created, { dir: release.dir, hide: await createSecretHasher(deps) });
  };
  const first = await containers.inspectProject();
  const differences = await compare(first);
  if (differences.length === 0) return first;
  tick.journal.warn(`made anew, as it was not made as the bundle says: ${formatDifferences(differences)}`);
  await removeDiffering(deps, first, differences);
  await create();
  const second = await containers.inspectProject();
  const remaining = await compare(second);
  if (remaining.length === 0) return second;
  await removeDiffering(deps, second, remaining);
  throw failedFault('PRIVILEGED_REFUSED', `what was made is not what the bundle says: ${formatDifferences(remaining)}`);
}

/**
 * Removes containers that a killed compose left partially created, and those that cannot start since a network of theirs is
 * gone, and tries once more what the engine could not remove. Kept one-shots are created and not started. Returns the services
 * with a container that the engine cannot remove, with its fault.
 */
export async function removePartiallyCreated(
  deps: Dependencies,
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
  if (!(error instanceof Fault) || error.code !== 'ENGINE_ERROR') throw error;
  const said = error.message.replace('ENGINE_ERROR: ', '');
  return failedFault('ENGINE_ERROR', `container ${containerName(container)} cannot be removed: ${said}`);
}

/** True for a network of a container that does not run, if the engine has it no more. Podman's containers name no ids. */
async function goneNetworks({ containers }: Dependencies, created: CreatedResources): Promise<(id: string) => boolean> {
  const own = new Set(created.networks.map(({ id }) => id));
  const used = created.containers.flatMap(networkIdsOf).filter((id) => !own.has(id));
  if (created.isPodman || used.length === 0) return () => false;
  const existing = new Set((await containers.networks()).map(({ id }) => id));
  return (id) => !existing.has(id);
}

/** The networks that a container finds by their ids when it starts; the engine finds its own by their names. */
function networkIdsOf({ NetworkSettings, State }: CreatedContainer): string[] {
  const attached = Object.entries(NetworkSettings.Networks ?? {});
  return attached.flatMap(([name, network]) =>
    State.Status === 'running' || /^(bridge|host|none)$/.test(name) ? [] : network?.NetworkID || [],
  );
}

/**
 * Removes the containers of services that the release does not run. Compose would do so with a service that its files lack, but
 * leaves one whose profiles are not chosen any more.
 */
export async function removeOtherServices(
  { containers }: Dependencies,
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
 * True for a container that was never started, that still has the temporary name that compose uses during a replacement, or that the
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
  deps: Dependencies,
  created: CreatedResources,
  differences: Difference[],
): Promise<void> {
  for (const container of new Set(differences.flatMap(({ containers }) => containers)))
    await removeKeepingVolumes(deps, container, created);
  for (const network of new Set(differences.flatMap((each) => each.network ?? [])))
    await deps.containers.removeNetwork(network.id);
}

/**
 * Removes a container so that compose creates it again with the data of its anonymous volumes and nothing else: a placeholder
 * container that is never started keeps the volumes, and compose takes them over. Throws `UP_FAILED` without removing
 * anything when the image of the placeholder is gone.
 */
export async function removeKeepingVolumes(
  { containers }: Dependencies,
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

/** A container that is never started: it holds volumes until compose takes them over. */
interface Placeholder {
  name: string;
  image: string;
  labels: Record<string, string>;
  volumes: readonly MountedVolume[];
}

/** False without its image. */
export async function createPlaceholder(
  containers: Dependencies['containers'],
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
 * Gives compose the anonymous volumes of recorded containers that somebody removed: without a container that mounts them it would
 * create empty ones. A container whose image is gone is left out, since compose would then pull the image.
 */
export async function holdDetachedVolumes({ containers, project, releases }: Dependencies, sha: string): Promise<void> {
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
