import type { ServiceImage } from '../../bundle/plan/images.rules.ts';
import {
  isImageId,
  loginFor,
  type LoginScope,
  normalizeImageReference,
  parseImageReference,
} from '../../registry/imageReference.rules.ts';
import { finishedServices, type ReleaseRecord } from './record.rules.ts';

/** The image of a service, as compose renders the model of a release; may contain a secret. */
export interface ServiceReference {
  service: string;
  image: string;
  /** Null without the key. */
  pullPolicy: string | null;
  platform: string | null;
}

/** An image that a release ran, and what needs it. */
export interface ReleaseImage {
  /** The reference as compose uses it; may contain a secret. */
  reference: string;
  id: string;
  /** `sha256:…` by which its registry knows it; null where none is known, undefined where none was recorded. */
  digest: string | null | undefined;
  /** The services that run it and have not finished. */
  services: string[];
  isPullable: boolean;
  platform: string | null;
}

/** Services of a rendered model with their images; one whose image was verified runs it by its digest. */
export function serviceReferencesOf(model: unknown, { verified_images: verified = [] }: ReleaseRecord) {
  const { services } = model as { services?: Record<string, RenderedImage> | null };
  return Object.entries(services ?? {}).map(([service, { image = '', ...rendered }]): ServiceReference => {
    const digest = verified.find((each) => each.service === service)?.digest;
    return {
      service,
      image: digest === undefined || image.includes('@') ? image : `${image}@${digest}`,
      pullPolicy: rendered.pull_policy ?? null,
      platform: rendered.platform ?? null,
    };
  });
}

interface RenderedImage {
  image?: string;
  pull_policy?: string;
  platform?: string;
}

/**
 * The recorded images of a release with the services that need them. A reference with a secret is recorded as the id: the
 * recorded containers tell its service.
 */
export function releaseImagesOf(record: ReleaseRecord, references: readonly ServiceReference[]): ReleaseImage[] {
  const finished = finishedServices(record);
  const { containers = [] } = record;
  const isOf = (recorded: string, id: string, { service, image }: ServiceReference) =>
    isImageId(recorded) ? containers.some((each) => each.service === service && each.image === id) : image === recorded;
  return record.images.flatMap(({ reference, id, digest }) => {
    if (id === null) return [];
    const users = references.filter((each) => isOf(reference, id, each));
    const services = users.map(({ service }) => service).filter((service) => !finished.has(service));
    const [first] = users;
    if (references.length > 0 && services.length === 0) return [];
    const isPullable = users.every(({ pullPolicy }) => pullPolicy !== 'never');
    return [
      {
        ...{ id, digest, services, isPullable },
        reference: first?.image ?? reference,
        platform: first?.platform ?? null,
      },
    ];
  });
}

/** The digest by which the registry of a reference knows an image, by what the engine says of the image; null for none. */
export function registryDigestOf(reference: string, repoDigests: readonly string[]): string | null {
  const { registry, repository, digest: written } = parseImageReference(reference);
  const digests = repoDigests.flatMap((each) => {
    const known = parseImageReference(each);
    return known.registry === registry && known.repository === repository ? (known.digest ?? []) : [];
  });
  return digests.find((digest) => digest === written) ?? digests[0] ?? null;
}

/** `<repository>@<digest>` of an image, as the engine pulls it. */
export function digestReference(reference: string, digest: string): string {
  const [name = reference] = reference.split('@');
  return `${name.replace(/:[^:/]*$/, '')}@${digest}`;
}

/**
 * True when an image that was pulled by its digest is the recorded one. An engine with the containerd store gives the digest as
 * the id, another one that of the image's configuration: ids of both kinds cannot be compared, and the digest alone decides.
 */
export function isRecordedImage({ id, digest }: { id: string; digest: string }, pulledId: string): boolean {
  return pulledId === id || pulledId === digest || id === digest;
}

/** Facts that decide which releases and images are kept. */
interface RetentionInput {
  /**
   * Every release on disk, newest first, with its images by reference, and by id where it ran them; `restorable`: it has its `.env`,
   * so it can be started again.
   */
  releases: { sha: string; images: string[]; ids?: string[]; restorable: boolean }[];
  /** The current release, which is always kept. */
  current: string | null;
  /** How many releases are kept, the current one included. */
  keep: number;
  /** Releases of which a container mounts a part. */
  mountedShas: ReadonlySet<string>;
  /** Images that a container uses: by reference, those of other projects by id too. */
  usedImages: ReadonlySet<string>;
  /** Ids of the images of all containers. */
  usedImageIds: ReadonlySet<string>;
  /** The engine's images: id and every reference of each. */
  engineImages: readonly { id: string; references: readonly string[] }[];
}

/** The releases to remove, those kept only because they are mounted, and the images to remove. */
interface RemovalSelection {
  shas: string[];
  keptByMount: string[];
  images: string[];
}

/**
 * Selects the releases to remove, and their images that no kept release references and no container uses, by id or by any
 * spelling of the reference (spec §12). A mount keeps a release's files, not its images.
 */
export function selectForRemoval({
  releases,
  current,
  keep,
  mountedShas,
  usedImages,
  usedImageIds,
  engineImages,
}: RetentionInput): RemovalSelection {
  const rank = ({ sha, restorable }: RetentionInput['releases'][number]) => (sha === current ? 2 : Number(restorable));
  const inOrder = releases.toSorted((a, b) => rank(b) - rank(a));
  const [kept, surplus] = [inOrder.slice(0, keep), inOrder.slice(keep)];
  const [keptByMount, removed] = [
    surplus.filter(({ sha }) => mountedShas.has(sha)),
    surplus.filter(({ sha }) => !mountedShas.has(sha)),
  ];
  const needed = new Set([...usedImages, ...kept.flatMap(({ images }) => images)].map(imageKeyOf));
  const idOf = new Map(
    engineImages.flatMap(({ id, references }) => [id, ...references].map((name) => [imageKeyOf(name), id] as const)),
  );
  const keptIds = new Set(kept.flatMap(({ ids = [] }) => ids));
  const neededIds = new Set([...usedImageIds, ...keptIds, ...[...needed].map((name) => idOf.get(name))]);
  const candidates = Map.groupBy(
    surplus.flatMap(({ images }) => images),
    imageKeyOf,
  );
  // The engine removes an image with its last tag, also one that a kept release ran under a tag that names another image now.
  const lastTags = new Set(
    engineImages.flatMap(({ id, references }) => {
      const tags = references.filter((name) => !name.includes('@')).map(imageKeyOf);
      return keptIds.has(id) && tags.every((tag) => candidates.has(tag)) ? tags : [];
    }),
  );
  const isNeeded = (name: string, id: string) =>
    needed.has(name) || lastTags.has(name) || usedImages.has(id) || (isImageId(name) && neededIds.has(name));
  const images = [...candidates].flatMap(([name, spellings]) => {
    const id = idOf.get(name);
    return id !== undefined && !isNeeded(name, id) ? spellings.slice(0, 1) : [];
  });
  return { shas: removed.map(shaOf), keptByMount: keptByMount.map(shaOf), images };
}

/** Ids of the dangling images without those that others need, by id or by any spelling of the reference. */
export function unneededImages(dangling: RetentionInput['engineImages'], neededByOthers: readonly string[]): string[] {
  const needed = new Set(neededByOthers.map(imageKeyOf));
  const isNeeded = (name: string) => needed.has(imageKeyOf(name));
  return dangling.filter(({ id, references }) => ![id, ...references].some(isNeeded)).map(({ id }) => id);
}

/** Records contain the id of an image when its reference would reveal a secret. */
function imageKeyOf(image: string): string {
  return isImageId(image) ? image : normalizeImageReference(image);
}

function shaOf({ sha }: { sha: string }): string {
  return sha;
}

/** The services that have one image, which one call of compose pulls, and the login for it. */
interface ImagePull<Login> {
  services: string[];
  logins: Login[];
}

/**
 * The images of services, each to be pulled alone: an engine may keep nothing of an image that did not arrive as a whole. A call of
 * compose has one login for a registry, that of its image; none for a repository outside the paths of the logins.
 */
export function imagePullsOf<Login extends LoginScope>(
  services: readonly Pick<ServiceImage, 'service' | 'image'>[],
  logins: readonly Login[],
): ImagePull<Login>[] {
  return [...Map.groupBy(services, ({ image }) => image)].map(([image, users]) => {
    const login = loginFor(logins, parseImageReference(image));
    return { services: users.map(({ service }) => service), logins: login === null ? [] : [login] };
  });
}
