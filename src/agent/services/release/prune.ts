import type { Outcome } from '../../../../machines/types.ts';
import { unneededImages } from '../../rules/release/retention.ts';
import { collectGarbage, warnOnError } from './collectGarbage.ts';
import { imagesOfOtherEnvs } from './otherEnvs.ts';
import type { Dependencies } from '../dependencies.ts';

/** `--prune` (spec §2): removes all releases except the applied one and, after an apply, dangling images; on a held host nothing. */
export async function prune(deps: Dependencies, { outcome }: { outcome: Outcome }): Promise<void> {
  if (deps.tick.hold !== null) return;
  await collectGarbage(deps, deps.state.state.applied_sha === null ? 0 : 1);
  if (outcome.ending === 'applied') await pruneImages(deps);
}

/** Where there are other envs, an image without a tag may be one that a release of theirs goes back to (spec §22.5). */
async function pruneImages(deps: Dependencies): Promise<void> {
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
