import { failedFault, Fault } from '../../../machines/fault.ts';
import { pullPlanOf, type ServiceImage } from '../../bundle/plan/images.rules.ts';
import { pullIntervalMs } from '../../bundle/policy/quantities.rules.ts';
import { monotonicMs } from '../../core/clock.ts';
import { printable } from '../../core/text.rules.ts';
import { registryLoginsOf } from '../engine/registries.ts';
import { catchFault } from '../journal/journal.ts';
import type { Carried } from '../release/orchestrator.ts';
import { imagePullsOf } from '../release/images.rules.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import { type ComposeDependencies, rethrowAsEngineFault } from './observe.ts';
import { expectDistinctNetworks } from './startRelease.ts';
import { composeReleaseOf } from '../release/releases.ts';

/**
 * Pulls images according to `pull_policy`, with the bundle's registry logins, which exist only during the call (spec
 * §5). Throws PULL_FAILED for an image that is neither on the host nor may be pulled.
 */
export async function pull(
  deps: ComposeDependencies,
  { bundle, release: { services } }: Carried<'bundle' | 'release'>,
  signal: AbortSignal,
): Promise<void> {
  const { vault } = deps;
  const rendered = [...services].map(([service, each]) => ({ ...each, service, image: vault.reveal(each.image) }));
  const images = new Set(rendered.map(({ image }) => image));
  const release = await composeReleaseOf(deps, bundle.sha);
  await expectDistinctNetworks(deps);
  const { pulled, absent } = pullPlanOf(await withLocal(deps, rendered), Date.now());
  const [first] = absent;
  if (first) throw absentFault(deps, first);
  if (pulled.length === 0) {
    deps.tick.journal.info('no image to pull: all are on this host');
    await recordPulledImages(deps, bundle.sha, images);
    return;
  }
  const pulls = imagePullsOf(pulled, registryLoginsOf(deps, bundle));
  deps.tick.journal.progress = await pullProgress(deps, bundle.sha);
  const endMs = monotonicMs() + deps.settings.pull_timeout_s * 1000;
  try {
    for (const { services: names, logins } of pulls) {
      const timeoutS = Math.max(0, endMs - monotonicMs()) / 1000;
      await deps.compose
        .pull({ ...release, services: names, timeoutS }, logins, signal)
        .catch((error: unknown) => rethrowAsEngineFault(deps, error));
    }
  } finally {
    await notePulledTags(deps, pulled);
    await recordPulledImages(deps, bundle.sha, images);
  }
  await notePullTimes(deps, pulled);
}

/** Notes which images the pulled tags name now: a revert moves only these tags back for good. */
async function notePulledTags(
  { containers, memory }: ComposeDependencies,
  pulled: readonly ServiceImage[],
): Promise<void> {
  await catchFault(async () => {
    const ids = await Promise.all(pulled.map(async ({ image }) => [image, await containers.imageId(image)] as const));
    memory.pulledTags = new Map(ids.flatMap(([image, id]) => (id === null ? [] : [[image, id]])));
  });
}

/** The services with the images that their references currently name on this host. */
function withLocal(
  { containers }: ComposeDependencies,
  services: readonly Omit<ServiceImage, 'local'>[],
): Promise<ServiceImage[]> {
  return Promise.all(
    services.map(async ({ service, image, pullPolicy }) => {
      return { service, image, pullPolicy, local: await containers.localImage(image) };
    }),
  );
}

function absentFault(deps: ComposeDependencies, { service, image }: ServiceImage): Fault {
  const name = deps.vault.isSecretFree(image) ? `image ${printable(image)} of ${service}` : `the image of ${service}`;
  return failedFault('PULL_FAILED', `${name} is not on this host, and its pull_policy is never`);
}

/**
 * Sets the tags of images with a pull interval again, because some engines keep that time and not the time of the pull.
 */
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
async function recordPulledImages(deps: ComposeDependencies, sha: string, images: ReadonlySet<string>): Promise<void> {
  const { containers, releases, tick } = deps;
  try {
    const record = await releases.readRecord(sha);
    if (record === null) return;
    const recorded = new Set(record.images.map(({ reference }) => reference));
    const pulled: ReleaseRecord['images'] = [];
    for (const image of images.difference(recorded)) {
      const id = await containers.imageId(image);
      if (id !== null) pulled.push({ reference: deps.vault.isSecretFree(image) ? image : id, id: null });
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
): Promise<NonNullable<ComposeDependencies['tick']['journal']['progress']>> {
  const { images } = (await releases.readRecord(sha)) ?? { images: [] };
  return async () => {
    const ids = await Promise.all(images.map(({ reference }) => containers.imageId(reference)));
    return { done: ids.filter((id) => id !== null).length, total: images.length, unit: 'images' };
  };
}
