import type { Sha } from '../../machines/words.ts';
import { validate } from './recordValidator.ts';

/** What a release remembers about itself in `.deployd.json`, so that state can be rebuilt without the bundle. */
export interface ReleaseRecord {
  schema: 1;
  sha: Sha;
  version: string;
  sequence: number;
  production: boolean;
  services: { name: string; replicas: number }[];
  /** Image references that the release runs, and the image that each stood for when it was applied. */
  images: { reference: string; id: string | null }[];
  /** Names of the compose files inside the release. */
  compose: string[];
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
