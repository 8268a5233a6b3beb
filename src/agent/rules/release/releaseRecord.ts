import type { Sha } from '../../../../machines/types.ts';
import type { OneShot } from './oneShots.ts';
import { validate } from './releaseRecordValidator.ts';

/** The record of a release in `.deployd.json`, from which the state can be rebuilt without the bundle. */
export interface ReleaseRecord {
  schema: 1;
  sha: Sha;
  version: string;
  sequence: number;
  production: boolean;
  /** The services that run. */
  services: { name: string; replicas: number }[];
  /**
   * Image references of the release, and the id of each image when the release was applied. A reference that contains a
   * secret is replaced by the image's id.
   */
  images: { reference: string; id: string | null }[];
  /** Paths of the compose files in the release. */
  compose: string[];
  /** The chosen profiles. Absent in records of older versions, which chose none. */
  profiles?: string[];
  /** Variables of the bundle that are no secrets. Absent in records of older versions. */
  variables?: Record<string, string>;
  /** Who signed the bundle. Absent in records of older versions. */
  signers?: readonly string[];
  /** Images whose signatures were verified. Absent in records of older versions. */
  verified_images?: readonly VerifiedImage[];
  /** One-shots that finished in this release, or unchanged in the previous one. Absent in records of older versions. */
  jobs?: OneShot[];
  /** Identifies the `.env` that the agent wrote. Absent in records of older versions. */
  env?: EnvDigest;
  /** The containers that the agent created or adopted. Absent until the release starts, and in records of older versions. */
  containers?: readonly RecordedContainer[];
  /** The volumes that these containers mount. Absent like them. */
  volumes?: readonly RecordedVolume[];
}

/** A container of a release. What it runs cannot change under one id, except for its networks and its name. */
export interface RecordedContainer {
  id: string;
  service: string;
  /** Id of its image. */
  image: string;
  /** Names of its networks, sorted. */
  networks: readonly string[];
  /** Its volumes, anonymous ones too. */
  volumes: readonly MountedVolume[];
  /** Its number among the replicas of the service, as compose counts. */
  number: string;
}

/** A volume and the path in the container where it is mounted. */
export interface MountedVolume {
  name: string;
  target: string;
}

/** A volume of a release. */
export interface RecordedVolume {
  name: string;
  /** By the engine, for people: engines before 23.0 change it with the content. Null when the engine gives none. */
  created_at: string | null;
  /** By the file system, which never changes it. Null when the agent cannot read it. */
  born_at: string | null;
}

/** An image of a service that was signed by whom the host trusts. */
export interface VerifiedImage {
  service: string;
  /** Its reference as written in the bundle, with the digest. */
  image: string;
  /** `sha256:…` of its manifest, or of its index where it is for several architectures. */
  digest: string;
  signers: readonly string[];
}

/** Size in bytes, keyed digest and id of the key. A plain digest would allow to guess the values. */
export interface EnvDigest {
  bytes: number;
  mac: string;
  key: string;
}

/** Parses a record; null when the text is no valid one. */
export function parseReleaseRecord(text: string): ReleaseRecord | null {
  try {
    const value: unknown = JSON.parse(text);
    return validate(value) ? (value as ReleaseRecord) : null;
  } catch {
    return null;
  }
}

/** True for two records of one apply. */
export function isSameRecord(one: ReleaseRecord | null, other: ReleaseRecord | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** True for a release that was applied: only then does its record contain image ids. */
export function wasApplied({ images }: ReleaseRecord): boolean {
  return images.some(({ id }) => id !== null);
}

/** Services that must have a container; a finished one-shot needs none. */
export function expectedServices(record: ReleaseRecord | null): ReleaseRecord['services'] {
  const finished = new Set(record?.jobs?.map(({ service }) => service));
  return (record?.services ?? []).filter(({ name }) => !finished.has(name));
}

/** An image that a release ran. */
export interface RecordedImage {
  reference: string;
  id: string;
}

/** Recorded images whose reference now stands for another image in a running container. */
export function replacedImages(
  recorded: ReleaseRecord['images'],
  running: readonly { image: string; imageId: string }[],
): RecordedImage[] {
  return recorded.flatMap(({ reference, id }) => {
    const isReplaced = ({ image, imageId }: { image: string; imageId: string }) =>
      image === reference && imageId !== id;
    return id !== null && running.some(isReplaced) ? [{ reference, id }] : [];
  });
}
