import type { Pull } from '../../adapters/compose/compose.ts';
import { replacedImages, type RecordedImage } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RestoredRelease } from '../orchestrator.ts';
import { incompleteFault } from '../release/incompleteFault.ts';
import { holdDetachedVolumes } from './createdContainers.ts';
import { currentContainers } from './observe.ts';
import { removeOrphanedResources } from './orphanRemoval.ts';
import { startRelease } from './startRelease.ts';
import { waitUntilHealthy } from './waitUntilHealthy.ts';

/** Starts a release with the image ids that it ran; a missing image is pulled only if `pull` allows it. */
export async function restore(deps: Dependencies, release: RestoredRelease, signal: AbortSignal): Promise<void> {
  const { sha, left = [] } = release;
  await restoreTags(deps, release);
  await holdDetachedVolumes(deps, sha);
  await startRelease(deps, { ...release, despiteFaults: true }, signal);
  await waitUntilHealthy(deps, { sha, left }, signal);
  await expectSameImages(deps, release.sha);
  await removeOrphanedResources(deps);
}

/** Tags the images that the release ran with their references again, where a reference names another image now. */
async function restoreTags(
  { containers, releases }: Dependencies,
  { sha, pull }: { sha: string; pull: Pull },
): Promise<void> {
  const missing: RecordedImage[] = [];
  for (const { reference, id } of (await releases.readRecord(sha))?.images ?? []) {
    const current = id === null ? null : await containers.imageId(reference);
    if (id === null || current === id) continue;
    const exists = (await containers.imageId(id)) !== null;
    if (exists && !reference.includes('@')) await containers.tagImage(id, reference);
    if (!exists && (current !== null || pull === 'never')) missing.push({ reference, id });
  }
  if (missing.length > 0) throw incompleteFault(`release ${sha} ran ${formatImages(missing)}: gone from this host`);
}

/** Checks the running image ids: a tag may have moved in the registry, so that the pull brought another image. */
async function expectSameImages(deps: Dependencies, sha: string): Promise<void> {
  const { images } = (await deps.releases.readRecord(sha)) ?? { images: [] };
  const replaced = replacedImages(images, await currentContainers(deps));
  if (replaced.length > 0)
    throw incompleteFault(`release ${sha} ran ${formatImages(replaced)}: other images run in their place`);
}

function formatImages(images: RecordedImage[]): string {
  return images.map(({ reference, id }) => `${reference} as ${id}`).join(', ');
}
