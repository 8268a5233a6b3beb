import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openRegularFile } from '../core/files.ts';
import { unpack } from './archive/archive.ts';
import { type Compression, MANIFEST_NAME, packContents, type PackedBundle } from './archive/pack.ts';
import { readManifestText } from './readBundle.ts';
import type { BundleContents } from './archive/inventory.rules.ts';

/** The bundle kept its limits when it was pushed; they may have been lowered since. */
const noLimits = { bundle_bytes: Infinity, unpacked_bytes: Infinity, bundle_entries: Infinity };

/** A bundle to pack anew with another manifest. */
export interface RepackRequest {
  /** An archive that was validated before. */
  file: string;
  /** The new archive, which is created. */
  into: string;
  /** Directory in which it is unpacked. */
  scratchDir: string;
  signal: AbortSignal;
}

/** A bundle that was packed anew, and what is in it. */
export interface RepackedBundle extends PackedBundle {
  contents: BundleContents;
}

/**
 * Packs a bundle anew: `change` gets the manifest's text and the unpacked files, and gives the text of the new manifest, or null for none, and every other file stays as it is,
 * byte for byte. Returns null without a new manifest. Throws as `unpack` and `packDirectory`.
 */
export async function repack(
  { file, into, scratchDir, signal }: RepackRequest,
  change: (manifest: string, unpacked: { dir: string; contents: BundleContents }) => Promise<string | null>,
): Promise<RepackedBundle | null> {
  const dir = await mkdtemp(join(scratchDir, 'repack-'));
  try {
    const before = await unpack({ file, into: dir, limits: noLimits, signal });
    const manifest = await change((await readManifestText(dir)) ?? '', { dir, contents: before });
    if (manifest === null) return null;
    const packed = await packContents({ dir, manifest, file: into, signal }, before, await compressionOf(file));
    return { ...packed, contents: withManifest(before, Buffer.byteLength(manifest)) };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function withManifest(contents: BundleContents, size: number): BundleContents {
  const files = contents.files.map((file) => (file.path === MANIFEST_NAME ? { ...file, size } : file));
  return { ...contents, files };
}

/** The compression of an archive that could be unpacked. */
async function compressionOf(file: string): Promise<Compression> {
  await using archive = await openRegularFile(file, { follow: false });
  const { buffer } = await archive.read(Buffer.alloc(2), 0, 2, 0);
  return buffer.toString('hex') === '1f8b' ? 'gzip' : 'zstd';
}
