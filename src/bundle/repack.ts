import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openRegularFile } from '../platform/regularFile.ts';
import type { BundleLimits } from './bundleLimits.ts';
import { unpack } from './archive.ts';
import { packContents, type Compression, type PackedBundle } from './pack.ts';
import { readManifestText } from './readBundle.ts';

/** A bundle to pack anew with another manifest. */
export interface RepackRequest {
  /** An archive that was validated before. */
  file: string;
  /** The new archive, which is created. */
  into: string;
  /** Directory in which it is unpacked. */
  scratchDir: string;
  limits: BundleLimits;
  signal: AbortSignal;
}

/**
 * Packs a bundle anew: `change` gives the text of the new manifest, or null for none, and every other file stays as it is,
 * byte for byte. Returns null without a new manifest. Throws as `unpack` and `packDirectory`.
 */
export async function repack(
  { file, into, scratchDir, limits, signal }: RepackRequest,
  change: (manifest: string) => Promise<string | null>,
): Promise<PackedBundle | null> {
  const dir = await mkdtemp(join(scratchDir, 'repack-'));
  try {
    const contents = await unpack({ file, into: dir, limits, signal });
    const manifest = await change((await readManifestText(dir)) ?? '');
    if (manifest === null) return null;
    return await packContents({ dir, manifest, file: into, signal }, contents, await compressionOf(file));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** The compression of an archive that could be unpacked. */
async function compressionOf(file: string): Promise<Compression> {
  await using archive = await openRegularFile(file, { follow: false });
  const { buffer } = await archive.read(Buffer.alloc(2), 0, 2, 0);
  return buffer.toString('hex') === '1f8b' ? 'gzip' : 'zstd';
}
