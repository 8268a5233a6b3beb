import { Fault } from '../../../../machines/fault.ts';
import type { Bundle } from '../../../../machines/types.ts';
import type { ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { composeReleaseOf } from '../release/composeRelease.ts';
import { expectDistinctNetworks, rethrowAsEngineFault } from './startRelease.ts';
import type { Dependencies } from '../dependencies.ts';
import { registryLoginsOf } from '../apply/registryLogins.ts';
import { isSecretFree } from '../apply/secretFree.ts';

/** Runs compose pull with the bundle's registry logins, which exist only during the call (spec §5). */
export async function pull(deps: Dependencies, bundle: Bundle, signal: AbortSignal): Promise<void> {
  const release = await composeReleaseOf(deps, bundle.sha);
  await expectDistinctNetworks(deps);
  const logins = registryLoginsOf(deps, bundle);
  deps.tick.readProgress = await pullProgress(deps, bundle.sha);
  try {
    await deps.compose.pull(release, logins, signal).catch((error: unknown) => rethrowAsEngineFault(deps, error));
  } finally {
    await recordPulledImages(deps, bundle.sha);
  }
}

/**
 * Adds images whose references contain variables to the release record, so that they are removed with the release, also after
 * a failed pull. After an interrupted pull the next one adds them.
 */
async function recordPulledImages(deps: Dependencies, sha: string): Promise<void> {
  const { containers, releases, tick } = deps;
  try {
    const record = await releases.readRecord(sha);
    if (record === null || tick.serviceDefinitions?.sha !== sha) return;
    const recorded = new Set(record.images.map(({ reference }) => reference));
    const named = new Set([...tick.serviceDefinitions.services.values()].map(({ image }) => image));
    const pulled: ReleaseRecord['images'] = [];
    for (const image of named.difference(recorded)) {
      const id = await containers.imageId(image);
      if (id !== null) pulled.push({ reference: isSecretFree(deps, image) ? image : id, id: null });
    }
    if (pulled.length > 0) await releases.writeRecord(sha, { ...record, images: [...record.images, ...pulled] });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    tick.journal.debug(`images of ${sha} are not noted: ${error.message}`);
  }
}

/** Progress of a pull: the number of images on this host, queried on demand. */
async function pullProgress(
  { containers, releases }: Dependencies,
  sha: string,
): Promise<NonNullable<Dependencies['tick']['readProgress']>> {
  const { images } = (await releases.readRecord(sha)) ?? { images: [] };
  return async () => {
    const ids = await Promise.all(images.map(({ reference }) => containers.imageId(reference)));
    return { done: ids.filter((id) => id !== null).length, total: images.length, unit: 'images' };
  };
}
