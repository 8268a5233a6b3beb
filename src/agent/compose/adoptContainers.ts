import { Fault } from '../../../machines/fault.ts';
import type { ServiceProblem, Sha } from '../../../machines/types.ts';
import { isImageId } from '../../registry/imageReference.rules.ts';
import { contentLabelsOf } from '../engine/container.rules.ts';
import { adoptable, describeUnknown, recordOf } from '../health/drift.rules.ts';
import { warnOnError } from '../release/garbage.ts';
import { registryDigestOf } from '../release/images.rules.ts';
import type { RunningImage } from '../release/orchestrator.ts';
import { isSameRecord, type ReleaseRecord } from '../release/record.rules.ts';
import { composeReleaseOf } from '../release/restoreRelease.ts';
import { currentContainers, type ComposeDependencies } from './observe.ts';

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
