import type { Sha } from '../../../../machines/words.ts';
import type { Job } from './jobs.ts';
import { validate } from './recordValidator.ts';

/** What a release remembers about itself in `.deployd.json`, so that state can be rebuilt without the bundle. */
export interface ReleaseRecord {
  schema: 1;
  sha: Sha;
  version: string;
  sequence: number;
  production: boolean;
  services: { name: string; replicas: number }[];
  /**
   * Image references that the release runs, and the image that each stood for when it was applied. Where a reference has a
   * secret in it, the id of the image stands for it.
   */
  images: { reference: string; id: string | null }[];
  /** Names of the compose files inside the release. */
  compose: string[];
  /** One-shots that finished, in this release or unchanged in the one before; not in a record of an older version. */
  jobs?: Job[];
  /** What tells the `.env` that the agent wrote from any other; not in a record of an older version. */
  env?: EnvSeal;
}

/** Size in bytes, a digest that only this host can make, as values may be guessed, and which of its keys made it. */
export interface EnvSeal {
  bytes: number;
  mac: string;
  key: string;
}

/** The record in a text, null when it holds none. */
export function parseRecord(text: string): ReleaseRecord | null {
  try {
    const value: unknown = JSON.parse(text);
    return validate(value) ? (value as ReleaseRecord) : null;
  } catch {
    return null;
  }
}

/** True for a release that was applied once: only then it knows which images it ran. */
export function wasApplied({ images }: ReleaseRecord): boolean {
  return images.some(({ id }) => id !== null);
}

/** Services that must have a container: a job that has finished needs none. */
export function expectedServices(record: ReleaseRecord | null): ReleaseRecord['services'] {
  const finished = new Set(record?.jobs?.map(({ service }) => service));
  return (record?.services ?? []).filter(({ name }) => !finished.has(name));
}

/** An image that a release ran. */
export interface RanImage {
  reference: string;
  id: string;
}

/** What a release ran under references under which its containers run something else now. */
export function otherImages(
  recorded: ReleaseRecord['images'],
  running: readonly { image: string; imageId: string }[],
): RanImage[] {
  return recorded.flatMap(({ reference, id }) => {
    const isOther = ({ image, imageId }: { image: string; imageId: string }) => image === reference && imageId !== id;
    return id !== null && running.some(isOther) ? [{ reference, id }] : [];
  });
}
