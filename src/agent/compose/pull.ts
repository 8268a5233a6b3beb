import { failedFault, Fault } from '../../../machines/fault.ts';
import type { Bundle } from '../../../machines/types.ts';
import { pullPlanOf, type ServiceImage } from '../../bundle/plan/images.rules.ts';
import { pullIntervalMs } from '../../bundle/policy/quantities.rules.ts';
import { monotonicMs } from '../../core/clock.ts';
import { printable } from '../../core/text.rules.ts';
import { isSecretFree, registryLoginsOf } from '../apply/readSecrets.ts';
import { catchFault } from '../journal/faults.ts';
import { imagePullsOf } from '../release/images.rules.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import { composeReleaseOf } from '../release/restoreRelease.ts';
import { type ComposeDependencies, rethrowAsEngineFault } from './observe.ts';
import { expectDistinctNetworks } from './startRelease.ts';

/**
 * Pulls what `pull_policy` demands, with the bundle's registry logins, which exist only during the call (spec §5). Throws PULL_FAILED
 * for an image that is neither on the host nor may be pulled.
 */
export async function pull(deps: ComposeDependencies, bundle: Bundle, signal: AbortSignal): Promise<void> {
  const release = await composeReleaseOf(deps, bundle.sha);
  await expectDistinctNetworks(deps);
  const { pulled, absent } = pullPlanOf(await serviceImages(deps, bundle.sha), Date.now());
  const [first] = absent;
  if (first) throw absentFault(deps, first);
  if (pulled.length === 0) {
    deps.tick.journal.info('no image to pull: all are on this host');
    await recordPulledImages(deps, bundle.sha);
    return;
  }
  const pulls = imagePullsOf(pulled, registryLoginsOf(deps, bundle));
  deps.tick.readProgress = await pullProgress(deps, bundle.sha);
  const endMs = monotonicMs() + deps.settings.pull_timeout_s * 1000;
  try {
    for (const { services, logins } of pulls) {
      const timeoutS = Math.max(0, endMs - monotonicMs()) / 1000;
      await deps.compose
        .pull({ ...release, services, timeoutS }, logins, signal)
        .catch((error: unknown) => rethrowAsEngineFault(deps, error));
    }
  } finally {
    await notePulledTags(deps, pulled);
    await recordPulledImages(deps, bundle.sha);
  }
  await notePullTimes(deps, pulled);
}

/** Notes which images the pulled tags name now: a revert moves only these tags back for good. */
async function notePulledTags(
  { containers, tick }: ComposeDependencies,
  pulled: readonly ServiceImage[],
): Promise<void> {
  await catchFault(async () => {
    const ids = await Promise.all(pulled.map(async ({ image }) => [image, await containers.imageId(image)] as const));
    tick.pulledTags = new Map(ids.flatMap(([image, id]) => (id === null ? [] : [[image, id]])));
  });
}

/** The services that run, with their images as they are on this host now. */
function serviceImages({ containers, tick }: ComposeDependencies, sha: string): Promise<ServiceImage[]> {
  if (tick.serviceDefinitions?.sha !== sha) throw new TypeError('the services of the bundle are not known');
  const services = [...tick.serviceDefinitions.services];
  return Promise.all(
    services.map(async ([service, { image, pullPolicy }]) => {
      return { service, image, pullPolicy, local: await containers.localImage(image) };
    }),
  );
}

function absentFault(deps: ComposeDependencies, { service, image }: ServiceImage): Fault {
  const name = isSecretFree(deps, image) ? `image ${printable(image)} of ${service}` : `the image of ${service}`;
  return failedFault('PULL_FAILED', `${name} is not on this host, and its pull_policy is never`);
}

/** Sets the tags of images that are pulled at an interval once more: some engines keep only that time, not the one of the pull. */
async function notePullTimes({ containers }: ComposeDependencies, pulled: readonly ServiceImage[]): Promise<void> {
  const atIntervals = pulled.filter(
    ({ image, pullPolicy }) => pullIntervalMs(pullPolicy) !== null && !image.includes('@'),
  );
  for (const image of new Set(atIntervals.map((each) => each.image))) await containers.tagImage(image, image);
}

/**
 * Adds images whose references contain variables to the release record, so that they are removed with the release, also after
 * a failed pull. After an interrupted pull the next one adds them.
 */
async function recordPulledImages(deps: ComposeDependencies, sha: string): Promise<void> {
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
  { containers, releases }: ComposeDependencies,
  sha: string,
): Promise<NonNullable<ComposeDependencies['tick']['readProgress']>> {
  const { images } = (await releases.readRecord(sha)) ?? { images: [] };
  return async () => {
    const ids = await Promise.all(images.map(({ reference }) => containers.imageId(reference)));
    return { done: ids.filter((id) => id !== null).length, total: images.length, unit: 'images' };
  };
}
