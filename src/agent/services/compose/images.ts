import { isImageId } from '../../../registry/imageReference.rules.ts';
import { registryDigestOf } from '../../rules/release/releaseImages.ts';
import { isSameRecord, type ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RunningImage } from '../orchestrator.ts';
import { warnOnError } from '../release/collectGarbage.ts';
import { currentContainers } from './observe.ts';

/** The image that each reference names, by the containers that run. */
export async function runningImages(deps: Dependencies): Promise<RunningImage[]> {
  const ids = new Map((await currentContainers(deps)).map(({ image, imageId }) => [image, imageId]));
  return Promise.all(
    [...ids].map(async ([reference, id]) => ({ reference, id, digest: await digestOf(deps, { reference, id }) })),
  );
}

/** Completes the record of a release that an older agent applied: with the digests of its images, while they are on this host. */
export async function recordDigests(deps: Dependencies, record: ReleaseRecord): Promise<ReleaseRecord> {
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

async function digestOf({ containers }: Dependencies, { reference, id }: { reference: string; id: string }) {
  return registryDigestOf(reference, await containers.repoDigests(id));
}
