import type { ArchiveLimits } from './rules/archive/archiveWalk.ts';

/** Limits of a bundle: bytes of its archive, and those of its content. */
export interface BundleLimits extends ArchiveLimits {
  readonly bundle_bytes: number;
}
