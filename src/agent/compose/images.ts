import { failedFault, Fault, isInterruption } from '../../../machines/fault.ts';
import { printable } from '../../core/text.rules.ts';
import { isImageId, loginFor, parseImageReference, registryOf } from '../../registry/imageReference.rules.ts';
import { readLogins } from '../apply/readSecrets.ts';
import type { RegistryLogin } from '../engine/registries.ts';
import { catchFault } from '../journal/journal.ts';
import { warnOnError } from '../release/garbage.ts';
import {
  digestReference,
  isRecordedImage,
  registryDigestOf,
  type ReleaseImage,
  releaseImagesOf,
  type ServiceReference,
  serviceReferencesOf,
} from '../release/images.rules.ts';
import { isSameRecord, type ReleaseRecord } from '../release/record.rules.ts';
import { type ComposeDependencies, currentContainers, rethrowAsEngineFault } from './observe.ts';
import { completeRecord } from '../release/releases.ts';
import type { RunningImage } from '../release/orchestrator.ts';

/** The images of a release that is about to start again. */
export interface PreparedImages {
  /** The image that each reference must name in the running containers. */
  expected: { reference: string; name: string; id: string }[];
  /** Services that stay unchanged because their image is gone. */
  left: string[];
  /** Names the images of services in `left` that cannot be obtained; null if there are no such images. */
  fault: Fault | null;
  /** Restores tags that others had set. */
  putTagsBack: () => Promise<void>;
}

/** A tag, the image that it named before, and the image of the release. */
interface MovedTag {
  reference: string;
  before: string;
  id: string;
}

/**
 * Points the references of a release to its recorded image ids. The tags are restored after the start, so that a tag
 * that an operator set is kept. A missing image is pulled by its recorded digest, never by a tag, unless its
 * `pull_policy` is `never`.
 */
export async function prepareImages(
  deps: ComposeDependencies,
  { sha, left = [] }: { sha: string; left?: readonly string[] },
  signal: AbortSignal,
): Promise<PreparedImages> {
  const record = await completeRecord(deps, sha);
  const moved: MovedTag[] = [];
  const prepared: PreparedImages = { expected: [], left: [], fault: null, putTagsBack: () => putBack(deps, moved) };
  const faults: Fault[] = [];
  const logins = lazyLogins(deps, sha, signal);
  for (const image of await imagesToPrepare(deps, record, signal)) {
    const waiting = image.services.filter((service) => !left.includes(service));
    const here = await hereAs(deps, image);
    const gone = here === null ? await servicesWithout(deps, image, waiting) : [];
    const found =
      here ?? (gone.length > 0 ? await pullByDigest(deps, { ...image, services: gone, logins }, signal) : null);
    if (typeof found === 'string') {
      prepared.expected.push({ reference: image.reference, name: nameOf(deps, image), id: found });
      await moveTag(deps, { ...image, id: found }, moved);
    } else prepared.left.push(...image.services);
    if (found instanceof Fault) faults.push(found);
    if (typeof found === 'string' && found !== image.id) await recordId(deps, { sha, from: image.id, to: found });
  }
  prepared.fault = joinFaults(faults);
  return prepared;
}

/**
 * The recorded images; with their services, which only the model contains, if an image is missing, has moved or has a
 * secret in its name.
 */
async function imagesToPrepare(
  deps: ComposeDependencies,
  record: ReleaseRecord,
  signal: AbortSignal,
): Promise<ReleaseImage[]> {
  const { containers } = deps;
  const asRecorded = await Promise.all(
    record.images.map(
      async ({ reference, id }) =>
        id === null || (!isImageId(reference) && (await containers.imageId(reference)) === id),
    ),
  );
  return releaseImagesOf(record, asRecorded.every(Boolean) ? [] : await serviceReferences(deps, record, signal));
}

/**
 * Uses only the files of the bundle, since the override of the release replaces `pull_policy`. Empty when compose
 * cannot read them.
 */
async function serviceReferences(
  { compose, releases }: ComposeDependencies,
  record: ReleaseRecord,
  signal: AbortSignal,
): Promise<ServiceReference[]> {
  const { sha, compose: files, profiles = [] } = record;
  const rendering = compose.renderModel({ dir: releases.pathOf(sha), files, profiles }, signal);
  const model = await rendering.catch((error: unknown) => {
    if (!(error instanceof Fault) || isInterruption(error)) throw error;
    return {};
  });
  return serviceReferencesOf(model, record);
}

/** The id of a local image; null for a missing one, or one that compose would not find by its digest. */
async function hereAs({ containers }: ComposeDependencies, { reference, id }: ReleaseImage): Promise<string | null> {
  if (reference.includes('@') && (await containers.imageId(reference)) !== id) return null;
  return containers.imageId(id);
}

/** The services that need a missing image, except services whose containers run it. */
async function servicesWithout({ containers }: ComposeDependencies, { id }: ReleaseImage, services: string[]) {
  const running = (await containers.list()).filter(({ state, imageId }) => state === 'running' && imageId === id);
  return services.filter((name) => running.every(({ service }) => service !== name));
}

/** Pulls an image by its recorded digest; returns its id, or why it cannot be obtained. */
async function pullByDigest(
  deps: ComposeDependencies,
  image: ReleaseImage & { logins: (registry: string) => Promise<RegistryLogin[]> },
  signal: AbortSignal,
): Promise<string | Fault> {
  const { compose, containers, tick } = deps;
  const { id, digest, platform } = image;
  const what = `${nameOf(deps, image)} of ${image.services.join(', ')} is gone from this host`;
  const toLoad = 'load it (sudo docker load), or promote a bundle with another one';
  if (!image.isPullable) return failedFault('PULL_FAILED', `${what}, and its pull_policy is never: ${toLoad}`);
  if (digest === undefined) return failedFault('PULL_FAILED', `${what}, and its digest was not recorded: ${toLoad}`);
  if (digest === null) return failedFault('PULL_FAILED', `${what}, and no registry is known to have it: ${toLoad}`);
  const reference = digestReference(image.reference, digest);
  const failure = await catchFault(async () => {
    const login = loginFor(await image.logins(registryOf(reference)), parseImageReference(reference));
    tick.journal.info(`${what}; pulled by its digest ${digest}`);
    await compose
      .pullDigest({ reference, platform }, login === null ? [] : [login], signal)
      .catch((error: unknown) => rethrowAsEngineFault(deps, error));
  });
  if (failure instanceof Fault) {
    if (isInterruption(failure) || failure.code === 'RUNTIME_UNAVAILABLE') throw failure;
    return withReason(`${what}, and its digest ${digest} cannot be pulled`, failure);
  }
  const pulled = await containers.imageId(reference);
  if (pulled !== null && isRecordedImage({ id, digest }, pulled)) return pulled;
  return failedFault(
    'PULL_FAILED',
    `${what}, and its digest ${digest} is another one here: ${pulled ?? 'none'} in place of ${id}`,
  );
}

/** A full disk keeps its code. */
function withReason(what: string, { code, message, lines, tail }: Fault): Fault {
  const ownCode = code === 'DISK_INSUFFICIENT' ? code : 'PULL_FAILED';
  const details = { code: ownCode, moreLines: lines.slice(1), ...(tail !== null && { tail }) };
  return new Fault('failed', `${ownCode}: ${what}: ${message.replace(/^failed: /, '')}`, details);
}

/**
 * The logins of the release for a registry, read once: the tenancy service grants the access to them. Throws its fault
 * when it cannot be reached.
 */
function lazyLogins(deps: ComposeDependencies, sha: string, signal: AbortSignal) {
  const read = new Map<string, Promise<RegistryLogin[]>>();
  return (registry: string): Promise<RegistryLogin[]> => {
    const logins = read.get(registry) ?? readLogins(deps, { sha, registry }, signal);
    read.set(registry, logins);
    return logins;
  };
}

/** Points a tag to the image of the release; remembers a tag that others set. */
async function moveTag(
  { containers, memory }: ComposeDependencies,
  image: ReleaseImage,
  moved: MovedTag[],
): Promise<void> {
  const { reference, id } = image;
  if (reference.includes('@') || isImageId(reference)) return;
  const before = await containers.imageId(reference);
  if (before === id) return;
  if (before !== null && memory.pulledTags.get(reference) !== before) moved.push({ reference, before, id });
  await containers.tagImage(id, reference);
}

async function putBack(deps: ComposeDependencies, moved: readonly MovedTag[]): Promise<void> {
  const { containers } = deps;
  await warnOnError(deps, 'a tag of an image still names the one that the release runs', async () => {
    for (const { reference, before, id } of moved)
      if ((await containers.imageId(reference)) === id) await containers.tagImage(before, reference);
  });
}

/** Records the current id of an image after a change of the engine's store. */
async function recordId(deps: ComposeDependencies, { sha, from, to }: { sha: string; from: string; to: string }) {
  const { releases } = deps;
  await warnOnError(deps, 'the new id of an image is not recorded yet', async () => {
    const record = await completeRecord(deps, sha);
    const images = record.images.map((image) => (image.id === from ? { ...image, id: to } : image));
    await releases.writeRecord(sha, { ...record, images });
  });
}

function joinFaults(faults: readonly Fault[]): Fault | null {
  const [first] = faults;
  if (first === undefined) return null;
  const details = { code: first.code ?? 'PULL_FAILED', moreLines: faults.flatMap(({ lines }) => lines).slice(1) };
  return new Fault('failed', first.message, { ...details, ...(first.tail !== null && { tail: first.tail }) });
}

/** The name of an image in messages. */
function nameOf(deps: ComposeDependencies, { reference }: Pick<ReleaseImage, 'reference'>): string {
  return deps.vault.isSecretFree(reference) ? `image ${printable(reference)}` : 'the image';
}

/** The image behind each reference, according to the running containers. */
export async function runningImages(deps: ComposeDependencies): Promise<RunningImage[]> {
  const ids = new Map((await currentContainers(deps)).map(({ image, imageId }) => [image, imageId]));
  return Promise.all(
    [...ids].map(async ([reference, id]) => ({ reference, id, digest: await digestOf(deps, { reference, id }) })),
  );
}

/**
 * Completes the record of a release that an older agent applied with the digests of its images, if they are on this
 * host.
 */
export async function recordDigests(deps: ComposeDependencies, record: ReleaseRecord): Promise<ReleaseRecord> {
  const isComplete = record.images.every(({ id, digest }) => id === null || digest !== undefined);
  if (isComplete) return record;
  const images = await Promise.all(
    record.images.map(async (image) => {
      const { reference, id, digest } = image;
      const isHere =
        id !== null && digest === undefined && !isImageId(reference) && (await deps.containers.imageId(id));
      return isHere ? { ...image, digest: await digestOf(deps, { reference, id: isHere }) } : image;
    }),
  );
  const completed = { ...record, images };
  if (!isSameRecord(record, completed))
    await warnOnError(deps, 'digests of images are not recorded yet', () =>
      deps.releases.writeRecord(record.sha, completed),
    );
  return completed;
}

async function digestOf({ containers }: ComposeDependencies, { reference, id }: { reference: string; id: string }) {
  return registryDigestOf(reference, await containers.repoDigests(id));
}
