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
