import { unneededImages } from '../../rules/release/retention.ts';
import type { Dependencies } from '../dependencies.ts';
import { warnOnError } from './collectGarbage.ts';
import { imagesOfOtherEnvs } from './otherEnvs.ts';

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
