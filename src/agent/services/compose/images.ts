import { unneededImages } from '../../rules/release/retention.ts';
import type { Dependencies } from '../dependencies.ts';
import { warnOnError } from '../release/collectGarbage.ts';
import { imagesOfOtherEnvs } from '../release/otherEnvs.ts';
import { currentContainers } from './observe.ts';

/** The id of the image that each reference names, by the containers that run. */
export async function runningImages(deps: Dependencies): Promise<ReadonlyMap<string, string>> {
  return new Map((await currentContainers(deps)).map(({ image, imageId }) => [image, imageId]));
}

/** The images that are not on this host. */
export async function missingImages({ containers }: Dependencies, references: readonly string[]): Promise<string[]> {
  const ids = await Promise.all(references.map((reference) => containers.imageId(reference)));
  return references.filter((_, index) => ids[index] === null);
}

/** Removes dangling images. Where there are other envs, an image without a tag may be one that a release of theirs goes back to (spec §22.5). */
export async function pruneImages(deps: Dependencies): Promise<void> {
  const { containers, otherEnvs } = deps;
  if (otherEnvs().length === 0) {
    await containers.pruneImages();
    return;
  }
  await warnOnError(deps, 'dangling images stay for now', async () => {
    // Listed before the releases are read, so that what another env pulls meanwhile is not in the list.
    const dangling = await containers.images({ dangling: true });
    for (const id of unneededImages(dangling, await imagesOfOtherEnvs(deps))) await containers.removeImage(id);
  });
}
