import { Fault } from '../../../machines/fault.ts';
import type { ServiceProblem, Sha } from '../../../machines/types.ts';
import { isImageId } from '../../registry/imageReference.rules.ts';
import { contentLabelsOf } from '../engine/container.rules.ts';
import { type CreatedContainer, type CreatedResources, serviceOf } from '../engine/createdContainer.rules.ts';
import { adoptable, describeUnknown, recordOf } from '../health/drift.rules.ts';
import { findOrphanedResources } from '../release/down.ts';
import { createSecretHasher } from '../release/fingerprints.ts';
import { warnOnError } from '../release/garbage.ts';
import type { GrantedPrivileges } from '../release/grantedPrivileges.rules.ts';
import { registryDigestOf } from '../release/images.rules.ts';
import type { RunningImage } from '../release/orchestrator.ts';
import { isSameRecord, type RecordedContainer, type ReleaseRecord } from '../release/record.rules.ts';
import { describeResources, hasNoResources, resourcesWithout } from '../release/volumes.rules.ts';
import type { ProjectResources } from '../state/state.rules.ts';
import { removeKeepingVolumes } from './createdContainers.ts';
import { isVolumeDifferent } from './differences.rules.ts';
import { type ComposeDependencies, currentContainers } from './observe.ts';
import { composeReleaseOf } from '../release/releases.ts';

/**
 * Records the containers and volumes of a release before the containers start, so that after a crash they are not taken
 * for resources of another tool. A container that existed `before` belongs to the release only if a release has
 * recorded it.
 */
export async function recordCreated(
  deps: ComposeDependencies,
  sha: Sha,
  { before, after }: { before: readonly CreatedContainer[]; after: CreatedResources },
): Promise<void> {
  const { releases } = deps;
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const known = await recordedIds(deps);
  const existed = new Set(before.map(({ Id }) => Id));
  const own = after.containers.filter(({ Id }) => known === null || known.has(Id) || !existed.has(Id));
  const containers = own.map(recordOfCreated);
  const names = new Set(containers.flatMap(({ volumes }) => volumes.map(({ name }) => name)));
  const volumes = after.volumes
    .filter(({ name }) => names.has(name))
    .map(({ name, created_at = null, born_at = null }) => ({ name, created_at, born_at }));
  const completed = { ...record, containers, volumes };
  if (!isSameRecord(record, completed)) await releases.writeRecord(sha, completed);
}

/**
 * Removes containers that others created, so that an apply replaces them even if copied labels make compose take them
 * for its own.
 */
export async function removeForeign(deps: ComposeDependencies): Promise<void> {
  const known = deps.settings.drift === 'heal' ? await recordedIds(deps) : null;
  if (known === null) return;
  const statuses = await deps.containers.listStatuses();
  if (statuses.every(({ id, state }) => known.has(id) || state === 'paused')) return;
  const created = await deps.containers.inspectProject();
  for (const container of created.containers.filter(({ Id, State }) => !known.has(Id) && State.Status !== 'paused'))
    await removeKeepingVolumes(deps, container, created);
}

/** Ids of the containers that any release recorded; null while the applied release has no record of them. */
async function recordedIds({ releases, state }: ComposeDependencies): Promise<ReadonlySet<string> | null> {
  const { applied_sha } = state.state;
  const applied = applied_sha === null ? null : await releases.readRecord(applied_sha);
  if (applied?.containers === undefined) return null;
  const records = await Promise.all((await releases.list()).map((sha) => releases.readRecord(sha)));
  return new Set(records.flatMap((record) => record?.containers ?? []).map(({ id }) => id));
}

function recordOfCreated(container: CreatedContainer): RecordedContainer {
  const { Id, Image, Mounts, NetworkSettings } = container;
  return {
    id: Id,
    service: serviceOf(container),
    image: Image,
    networks: Object.keys(NetworkSettings.Networks ?? {}).sort(),
    volumes: (Mounts ?? []).flatMap(({ Type, Name, Destination }) =>
      Type === 'volume' && Name ? [{ name: Name, target: Destination }] : [],
    ),
    number: container.Config.Labels?.['com.docker.compose.container-number'] ?? '',
  };
}

/** Removes orphaned resources after a revert; a failure is logged. */
export async function removeOrphanedResources(deps: ComposeDependencies): Promise<void> {
  const { containers, state, tick } = deps;
  try {
    const orphans = await findOrphanedResources(deps, state.state, false);
    if (hasNoResources(orphans)) return;
    await containers.removeOwnedResources(orphans);
    const removed = resourcesWithout(orphans, await containers.ownedResources());
    if (!hasNoResources(removed))
      tick.journal.info(`removed, as only a failed bundle made it: ${describeResources(removed)}`);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'failed') throw error;
    tick.journal.warn(`what only a failed bundle made may stay: ${error.message}`);
  }
}

/**
 * Before a bundle starts on resources of failed attempts: removes those that conflict with it. Volumes are compared with its
 * model; networks, which hold no data, are removed when another bundle created them. Containers that use removed resources are
 * removed as well, so that compose creates them again.
 */
export async function removeConflictingOrphans(
  deps: ComposeDependencies,
  sha: Sha,
  granted: GrantedPrivileges,
): Promise<void> {
  const { containers, state, tick } = deps;
  const baseline = state.state.baseline ?? null;
  if (baseline === null) return;
  const orphans = await findOrphanedResources(deps, state.state, false);
  const conflicts = {
    volumes: orphans.volumes.length === 0 ? [] : await findConflictingVolumes(deps, orphans.volumes, granted),
    networks: baseline.sha === sha ? [] : orphans.networks,
  };
  if (!hasNoResources(conflicts)) {
    const created = await containers.inspectProject();
    for (const container of created.containers.filter((each) => usesResources(each, conflicts)))
      await removeKeepingVolumes(deps, container, created);
    await containers.removeOwnedResources(conflicts);
    tick.journal.info(`recreated, because a failed bundle created it: ${describeResources(conflicts)}`);
  }
  await state.update({ baseline: { ...baseline, sha } });
}

async function findConflictingVolumes(
  deps: ComposeDependencies,
  names: string[],
  granted: GrantedPrivileges,
): Promise<string[]> {
  const hide = await createSecretHasher(deps);
  const existing = (await deps.containers.volumes()).filter(({ name }) => names.includes(name));
  return existing.filter((volume) => isVolumeDifferent(granted, volume, hide)).map(({ name }) => name);
}

/** Whether a container mounts one of the volumes or is attached to one of the networks. */
export function usesResources(
  { Mounts, NetworkSettings }: CreatedContainer,
  { volumes, networks }: ProjectResources,
): boolean {
  const attached = Object.keys(NetworkSettings.Networks ?? {});
  return (Mounts ?? []).some(({ Name = '' }) => volumes.includes(Name)) || attached.some((n) => networks.includes(n));
}

/**
 * Records the existing containers and volumes of a release that an older agent applied without such records, if they
 * match, and the digests of its images. It changes no container. The containers that do not match are returned as
 * problems, and healed from the next tick on.
 */
export async function adoptContainers(
  deps: ComposeDependencies,
  sha: Sha,
  signal: AbortSignal,
): Promise<ServiceProblem[]> {
  const { containers, releases } = deps;
  const record = await releases.readRecord(sha);
  if (record === null) return [];
  const withDigests = await recordDigests(deps, record);
  if (record.containers !== undefined) return [];
  const found = await containers.listStatuses();
  const { hashes, version } = await configurationHashes(deps, sha, signal);
  const contents = contentLabelsOf(await releases.readOverride(sha));
  const { adopted, foreign } = adoptable(found, { record, hashes, composeVersion: version, contents });
  const mounted = new Set(adopted.flatMap(({ created }) => created.volumes.map(({ name }) => name)));
  const { volumes } = await containers.existingVolumes();
  const completed = {
    ...withDigests,
    containers: adopted.map(recordOf),
    volumes: volumes.filter(({ name }) => mounted.has(name)),
  };
  await releases.writeRecord(sha, completed);
  return foreign.map((container) => {
    const detail = describeUnknown(container, completed);
    return { service: container.service, detail, cure: 'none', containers: [container.id], isFailure: true };
  });
}

/** Without hashes if compose cannot compute them: then image and content decide. */
async function configurationHashes(deps: ComposeDependencies, sha: Sha, signal: AbortSignal) {
  try {
    return await deps.compose.configurationHashes(await composeReleaseOf(deps, sha), signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending === 'stopped') throw error;
    return { hashes: null, version: '' };
  }
}

/** The image behind each reference, according to the running containers. */
export async function runningImages(deps: ComposeDependencies): Promise<RunningImage[]> {
  const ids = new Map((await currentContainers(deps)).map(({ image, imageId }) => [image, imageId]));
  return Promise.all(
    [...ids].map(async ([reference, id]) => ({ reference, id, digest: await digestOf(deps, { reference, id }) })),
  );
}

/**
 * Completes the record of a release that an older agent applied with the digests of its images, if they are on this
 * host.
 */
export async function recordDigests(deps: ComposeDependencies, record: ReleaseRecord): Promise<ReleaseRecord> {
  const isComplete = record.images.every(({ id, digest }) => id === null || digest !== undefined);
  if (isComplete) return record;
  const images = await Promise.all(
    record.images.map(async (image) => {
      const { reference, id, digest } = image;
      const isHere =
        id !== null && digest === undefined && !isImageId(reference) && (await deps.containers.imageId(id));
      return isHere ? { ...image, digest: await digestOf(deps, { reference, id: isHere }) } : image;
    }),
  );
  const completed = { ...record, images };
  if (!isSameRecord(record, completed))
    await warnOnError(deps, 'digests of images are not recorded yet', () =>
      deps.releases.writeRecord(record.sha, completed),
    );
  return completed;
}

async function digestOf({ containers }: ComposeDependencies, { reference, id }: { reference: string; id: string }) {
  return registryDigestOf(reference, await containers.repoDigests(id));
}
