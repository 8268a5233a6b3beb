import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { unpack } from '../../bundle/archive/archive.ts';
import { diffSideOf } from '../../bundle/bundleAt.ts';
import { readBundle } from '../../bundle/readBundle.ts';
import { type BundleDiff, diffOf, type DiffSide, withoutConfidential } from '../../bundle/bundleDiff.rules.ts';
import { ApiError, notFound, requestAborted } from '../core/apiError.rules.ts';
import { createLimiter, type Limiter } from '../core/limiter.ts';
import { findBundle } from '../store/bundles.ts';
import type { Store } from '../store/openStore.ts';
import { type ArchiveDependencies, fetchArchive, refusedBundle, withScratchDirectory } from './archives.ts';

/** Dependencies of comparisons of bundles. */
export interface ComparisonDependencies extends ArchiveDependencies {
  /** Limits the comparisons that run at the same time. */
  readonly limitComparisons: Limiter;
}

/**
 * Longest time in milliseconds of a comparison, including the downloads of both archives: callers and proxies give up
 * after a minute.
 */
const LONGEST_MS = 45_000;

/** Largest number of concurrent comparisons: each writes up to `limits.unpacked_bytes` to the disk. */
const COMPARISONS_AT_ONCE = 2;

/** Creates the limiter of an instance's comparisons. */
export function limitComparisons(): Limiter {
  return createLimiter(COMPARISONS_AT_ONCE, 'too many bundles are compared at once');
}

/** Two bundles of an environment, by their digests. */
export interface Comparison {
  env: string;
  before: string;
  after: string;
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
}

/**
 * Compares two bundles of an environment without showing values that may be confidential. Unpacks one archive at a time
 * below the state directory. Throws 404, 422 for a bundle that this version cannot read, and PeerErrors. Throws 503
 * `BUNDLE_MISSING`, `BUNDLE_DAMAGED`, `DISK_FULL`, or `OVERLOADED` if too many comparisons run or this one takes too
 * long.
 */
export async function compareBundles(deps: ComparisonDependencies, comparison: Comparison): Promise<BundleDiff> {
  const { env, before, after, signal } = comparison;
  for (const sha256 of [before, after]) await requireBundleOf(deps.store, env, sha256);
  return deps.limitComparisons(async () => {
    const timeout = AbortSignal.timeout(LONGEST_MS);
    const either = AbortSignal.any([signal, timeout]);
    try {
      const side = await readSide(deps, before, either);
      return withoutConfidential(diffOf(side, await readSide(deps, after, either)));
    } catch (error) {
      if (signal.aborted) throw requestAborted();
      if (timeout.aborted) throw tooSlow();
      throw error;
    }
  });
}

async function requireBundleOf(store: Store, env: string, sha256: string): Promise<void> {
  const row = await findBundle(store, sha256);
  // The role is for this environment only: bundles of other environments count as missing.
  if (row?.env !== env) throw notFound('bundle');
}

function readSide(deps: ComparisonDependencies, sha256: string, signal: AbortSignal): Promise<DiffSide> {
  return withScratchDirectory(deps, async (scratch) => {
    const [file, dir] = [join(scratch, 'archive'), join(scratch, 'files')];
    await fetchArchive(deps, { sha256, file, signal });
    await mkdir(dir, { mode: 0o700 });
    const readContents = () => unpack({ file, into: dir, limits: deps.settings.limits, signal });
    const side = await diffSideOf(await readBundle({ sha: sha256, dir, readContents }), signal);
    if ('refusals' in side) throw refusedBundle(side.refusals);
    return side;
  });
}

function tooSlow(): ApiError {
  const message = `comparing the bundles has taken longer than ${LONGEST_MS / 1000} s: fetch and compare them by deployctl`;
  return new ApiError({ status: 503, code: 'OVERLOADED', message, retryAfterS: 60 });
}
