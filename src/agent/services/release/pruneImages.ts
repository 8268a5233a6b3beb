import { unneededImages } from '../../rules/release/retention.ts';
import type { Dependencies } from '../dependencies.ts';
import { warnOnError } from './collectGarbage.ts';
import { imagesOfOtherEnvs, imagesOfReleases } from './otherEnvs.ts';

/**
 * Removes dangling images. One that a release on disk ran stays, of this env or of another one of the host (spec §22.5): the release may
 * go back to it, and its tag may name another image.
 */
export async function pruneImages(deps: Dependencies): Promise<void> {
  const { containers, releases } = deps;
  await warnOnError(deps, 'dangling images stay for now', async () => {
    // Listed before the releases are read, so that what another env pulls meanwhile is not in the list.
    const dangling = await containers.images({ dangling: true });
    const needed = [...(await imagesOfReleases(releases, await releases.list())), ...(await imagesOfOtherEnvs(deps))];
    for (const id of unneededImages(dangling, needed)) await containers.removeImage(id);
  });
}
