import { replacedImages } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RestoredRelease } from '../orchestrator.ts';
import { incompleteFault } from '../release/incompleteFault.ts';
import { holdDetachedVolumes } from './createdContainers.ts';
import { currentContainers } from './observe.ts';
import { removeOrphanedResources } from './orphanRemoval.ts';
import { prepareImages, type PreparedImages } from './restoreImages.ts';
import { startRelease } from './startRelease.ts';
import { waitUntilHealthy } from './waitUntilHealthy.ts';

/**
 * Starts a release with the image ids that it ran. A service whose image is gone and cannot be pulled by its digest stays as it is;
 * the others are started before that is thrown.
 */
export async function restore(deps: Dependencies, release: RestoredRelease, signal: AbortSignal): Promise<void> {
  const { sha } = release;
  const images = await prepareImages(deps, release, signal);
  const left = [...new Set([...(release.left ?? []), ...images.left])];
  try {
    await holdDetachedVolumes(deps, sha);
    await startRelease(deps, { ...release, left, despiteFaults: true }, signal);
  } finally {
    await images.putTagsBack();
  }
  if (images.fault !== null) throw images.fault;
  await waitUntilHealthy(deps, { sha, left }, signal);
  await expectSameImages(deps, { sha, ...images });
  await removeOrphanedResources(deps);
}

/** Checks the ids of the images that run: another program may have moved a tag meanwhile. */
async function expectSameImages(
  deps: Dependencies,
  { sha, expected }: { sha: string } & Pick<PreparedImages, 'expected'>,
): Promise<void> {
  const replaced = replacedImages(expected, await currentContainers(deps));
  const named = replaced.map(({ name, id }) => `${name} as ${id}`).join(', ');
  if (named !== '') throw incompleteFault(`release ${sha} ran ${named}: other images run in their place`);
}
