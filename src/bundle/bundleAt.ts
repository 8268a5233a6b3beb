import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Refusal } from '../../machines/refusals.ts';
import type { Sha } from '../../machines/types.ts';
import { diskFault } from '../platform/errors/diskFault.ts';
import { unpack } from './archive.ts';
import { readBundleDirectory } from './bundleDirectory.ts';
import type { BundleLimits } from './bundleLimits.ts';
import { digestOf } from './fileDigest.ts';
import { readBundle, type UnpackedBundle } from './readBundle.ts';

/** An archive, or a directory with the files of a bundle. */
export interface BundlePlace {
  path: string;
  /** For which env it is read; by default its own. */
  env?: string | undefined;
  limits: BundleLimits;
  signal: AbortSignal;
}

/** A bundle that was read, or why it could not be; the sha is null for a directory. */
export type ReadBundle = UnpackedBundle | { sha: Sha | null; refusal: Refusal };

/** Reads a bundle for `use`; an archive is unpacked into a temporary directory, which is removed. Throws Faults. */
export async function withBundleAt<Result>(
  { path, env, limits, signal }: BundlePlace,
  use: (bundle: ReadBundle) => Promise<Result>,
): Promise<Result> {
  const stats = await stat(path).catch((error: unknown) => {
    throw diskFault('read', path, error);
  });
  if (stats.isDirectory()) {
    const readContents = () => readBundleDirectory(path, limits, signal);
    return use({ sha: null, ...(await readBundle({ sha: null, dir: path, readContents }, env)) });
  }
  const sha = await digestOf(path, signal);
  const dir = await mkdtemp(join(tmpdir(), 'deployd-plan-'));
  try {
    const readContents = () => unpack({ file: path, into: dir, limits, signal });
    return await use({ sha, ...(await readBundle({ sha, dir, readContents }, env)) });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
