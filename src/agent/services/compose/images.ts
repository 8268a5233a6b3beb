import type { Dependencies } from '../dependencies.ts';
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
