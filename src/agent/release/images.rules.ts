import type { ServiceImage } from '../../bundle/plan/images.rules.ts';
import { isImageId, loginFor, type LoginScope, parseImageReference } from '../../registry/imageReference.rules.ts';
import { finishedServices, type ReleaseRecord } from './record.rules.ts';

/** The image of a service, as compose renders the model of a release; may contain a secret. */
export interface ServiceReference {
  service: string;
  image: string;
  /** Null without the key. */
  pullPolicy: string | null;
  platform: string | null;
}

/** An image that a release ran, and the services that need it. */
export interface ReleaseImage {
  /** The reference as compose uses it; may contain a secret. */
  reference: string;
  id: string;
  /** `sha256:…` by which its registry identifies it; null if no digest is known, undefined if none was recorded. */
  digest: string | null | undefined;
  /** The unfinished services that run it. */
  services: string[];
  isPullable: boolean;
  platform: string | null;
}

/** Services of a rendered model with their images; a service whose image was verified runs it by its digest. */
export function serviceReferencesOf(
  model: unknown,
  { verified_images: verified = [] }: Pick<ReleaseRecord, 'verified_images'>,
) {
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
 * The recorded images of a release with the services that need them. For a reference with a secret the id is recorded,
 * and the recorded containers identify its service.
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

/**
 * The digest by which the registry of a reference identifies an image, from the engine's data about the image; null if
 * there is none.
 */
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
 * True when an image that was pulled by its digest is the recorded one. An engine with the containerd store uses the
 * digest as the id, other engines the digest of the image's configuration. Ids of both kinds cannot be compared, so the
 * digest alone decides.
 */
export function isRecordedImage({ id, digest }: { id: string; digest: string }, pulledId: string): boolean {
  return pulledId === id || pulledId === digest || id === digest;
}

/** The services that share an image, which one call of compose pulls, and the login for it. */
interface ImagePull<Login> {
  services: string[];
  logins: Login[];
}

/**
 * The images of services, each pulled separately: an engine may keep nothing of an image that did not arrive
 * completely. A call of compose has at most one login, for the registry of its image; it has none for a repository
 * outside the paths of the logins.
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

/**
 * The image of each service of a release, by the digest that it ran; without a recorded digest, as compose renders it.
 * The managers of a swarm record the digest as the id.
 */
export function imagesThatRan(
  { images, containers = [] }: Pick<ReleaseRecord, 'images' | 'containers'>,
  references: readonly ServiceReference[],
  orchestrator: 'compose' | 'swarm',
): { service: string; image: string }[] {
  return references.map(({ service, image }) => {
    const ids = new Set(containers.filter((each) => each.service === service).map((each) => each.image));
    const ran = images.find(({ reference, id }) => reference === image || (id !== null && ids.has(id)));
    const digest = ran?.digest ?? (orchestrator === 'swarm' ? ran?.id : null) ?? null;
    return { service, image: digest === null || image.includes('@') ? image : digestReference(image, digest) };
  });
}
