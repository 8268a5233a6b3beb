import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import { Fault, throwIfStopped } from '../../machines/fault.ts';
import type { BundleContents } from './rules/archive/inventory.ts';
import { diskFault, withDiskFault } from '../platform/errors/diskFault.ts';
import { openRegularFile } from '../platform/regularFile.ts';
import { readBundleDirectory } from './bundleDirectory.ts';
import type { BundleLimits } from './bundleLimits.ts';
import { encodeMember, endOfArchive, padding, type TarMember } from './tarMember.ts';

/** Path of the manifest in a bundle. */
export const MANIFEST_NAME = 'manifest.json';

/** A directory to pack, and the archive that it becomes. */
export interface PackRequest {
  dir: string;
  /** Text of the bundle's manifest; one in the directory is left out. */
  manifest: string;
  /** The archive, which is created. */
  file: string;
  signal: AbortSignal;
}

/** How an archive is compressed; `gzip` by default. */
export type Compression = 'gzip' | 'zstd';

/** An archive that was written. */
export interface PackedBundle {
  sha256: string;
  sizeBytes: number;
}

/**
 * Packs everything below a directory, so that the same files always give the same archive, whatever their owners, times
 * and order. Throws `BUNDLE_UNSAFE` for what no bundle may hold, Faults of the disk, and `stopped` on abort; then there is
 * no archive.
 */
export async function packDirectory(request: PackRequest, limits: BundleLimits): Promise<PackedBundle> {
  return packContents(request, await readBundleDirectory(request.dir, limits, request.signal));
}

/** Packs those files and directories of a directory that are listed; else as `packDirectory`. */
export async function packContents(
  request: PackRequest,
  contents: BundleContents,
  compression: Compression = 'gzip',
): Promise<PackedBundle> {
  const { file, signal } = request;
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const measured = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      yield chunk;
    }
  };
  const compressor = compression === 'gzip' ? createGzip() : createZstdCompress();
  await withDiskFault('write', file, async () => (await open(file, 'wx')).close());
  try {
    // Not created again by a stream that opens it after it was removed.
    const archive = createWriteStream(file, { flags: 'r+' });
    await pipeline(archiveOf(request, contents), compressor, measured, archive, { signal });
    return { sha256: hash.digest('hex'), sizeBytes };
  } catch (error) {
    await rm(file, { force: true });
    throwIfStopped(signal);
    throw error instanceof Fault ? error : diskFault('write', file, error);
  }
}

/** The manifest comes first, so that whoever reads the archive need not search for it. */
async function* archiveOf({ dir, manifest }: PackRequest, contents: BundleContents): AsyncGenerator<Buffer> {
  const text = Buffer.from(manifest);
  yield encodeMember({ path: MANIFEST_NAME, kind: 'file', executable: false, size: text.length });
  yield Buffer.concat([text, padding(text.length)]);
  for (const member of membersOf(contents)) {
    yield encodeMember(member);
    if (member.kind === 'file') yield* contentOf(dir, member);
  }
  yield endOfArchive;
}

/** In the order of the paths, a directory before what is in it. */
function membersOf({ directories, files }: BundleContents): TarMember[] {
  const members: TarMember[] = [
    ...directories.map((path) => ({ path, kind: 'directory' as const, executable: true, size: 0 })),
    ...files.map(({ path, size, executable }) => ({ path, kind: 'file' as const, executable, size })),
  ];
  const own = members.filter(({ path }) => path !== MANIFEST_NAME);
  return own.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

async function* contentOf(dir: string, { path, size }: TarMember): AsyncGenerator<Buffer> {
  const file = join(dir, path);
  let bytes = 0;
  try {
    const opened = await openRegularFile(file, { follow: false });
    // One byte more, so that a file that grows is noticed. The stream closes the file.
    const chunks: AsyncIterable<Buffer> = opened.createReadStream({ start: 0, end: size });
    for await (const chunk of chunks) {
      bytes += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw diskFault('read', file, error);
  }
  if (bytes !== size) throw new Fault('failed', `failed: ${file} was changed while it was packed`);
  yield padding(size);
}
