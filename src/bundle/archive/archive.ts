import { createHash } from 'node:crypto';
import { chmodSync, closeSync, fchmodSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { type FileHandle, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from 'node:zlib';
import type { ReadEntry } from 'tar';
import { Parser } from 'tar/parse';
import { Fault, refusedFault } from '../../../machines/fault.ts';
import { diskFault } from '../../core/errors.rules.ts';
import { openRegularFile } from '../../core/files.ts';
import { removeTree } from '../../core/treeRemoval.ts';
import {
  type ArchiveEntry,
  ArchiveWalk,
  type BundleLimits,
  entryPathOf,
  limitCure,
  limitDetails,
  parentsOf,
} from './archiveEntries.rules.ts';
import type { BundleContents } from './inventory.rules.ts';
import { blockBytes, bundleUnsafe } from './tarHeader.rules.ts';

/** A bundle, and the empty directory (0700) to unpack it into. */
export interface UnpackRequest {
  file: string;
  /** In hex; an archive with another digest is refused, even one that was exchanged after it was verified. */
  sha256?: string;
  into: string;
  limits: BundleLimits;
  signal: AbortSignal;
}

/**
 * Unpacks a bundle (tar in gzip or zstd) as a stream; files become 0644 or 0755, directories 0755, whatever the umask.
 *
 * - Two parsers read the archive (adr/0020): ours validates each header before its bytes are passed on, node-tar then reads the
 *   entry. When they disagree, the bundle is rejected.
 * - On failure `into` is emptied, within a second. Nothing is synced.
 *
 * Returns what was written. Throws `BUNDLE_DIGEST`, `BUNDLE_UNSAFE`, `DISK_WRITE_FAILED`, or `stopped` on abort.
 */
export async function unpack({ file, sha256, into, limits, signal }: UnpackRequest): Promise<BundleContents> {
  const validated: ArchiveEntry[] = [];
  const contents: BundleContents = { files: [], directories: [] };
  try {
    await using bundle = await openRegularFile(file, { follow: false }).catch((error: unknown) => {
      throw diskFault('read', file, error);
    });
    const caps = { ...limits, compressed: await sizeOf(bundle, limits) };
    const decompress = await decompressor(bundle);
    await pipeline(
      bundle.createReadStream({ start: 0, autoClose: false, highWaterMark: chunkBytes }),
      (chunks: AsyncIterable<Buffer>) => hashedChunks(chunks, sha256),
      decompress,
      (chunks: AsyncIterable<Buffer>) => validatedBlocks(chunks, caps, validated),
      (chunks: AsyncIterable<Buffer>) => writeEntries(chunks, { into, validated, contents }),
      { signal },
    );
    if (decompress.bytesWritten !== caps.compressed) throw trailingBytes();
    return contents;
  } catch (error) {
    await emptyDirectory(into);
    throw faultOf(error, { file, into, signal });
  }
}

/** Text compresses to a tenth, a decompression bomb to a thousandth. Bundles below `exemptBytes` may have any ratio. */
const expansionLimit = { maxRatio: 200, exemptBytes: 16 * 1024 * 1024 };

/** Bytes read, decompressed and written at a time: a compromise between memory and the number of calls. */
const chunkBytes = 65_536;

/** Well within the time that a tick has to end after SIGTERM; the next tick removes the rest. */
const cleanupTimeoutMs = 1000;

/** 8 MiB, the window of `zstd -19`; a malicious frame could demand gigabytes. */
const zstdWindowLog = 23;

async function* hashedChunks(chunks: AsyncIterable<Buffer>, sha256: string | undefined): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
  if (sha256 !== undefined && hash.digest('hex') !== sha256)
    throw refusedFault([{ code: 'BUNDLE_DIGEST', detail: 'the archive on the disk is another one than was verified' }]);
}

async function sizeOf(bundle: FileHandle, limits: BundleLimits): Promise<number> {
  const { size } = await bundle.stat();
  if (size > limits.bundle_bytes)
    throw bundleUnsafe(limitDetails.bundle_bytes(limits.bundle_bytes, size), limitCure('bundle_bytes'));
  return size;
}

async function decompressor(bundle: FileHandle): Promise<Gunzip | ZstdDecompress> {
  const { buffer, bytesRead } = await bundle.read(Buffer.alloc(4), 0, 4, 0);
  const magic = buffer.toString('hex', 0, bytesRead);
  // without `rejectGarbageAfterEnd`, which refuses a second member too
  if (magic.startsWith('1f8b')) return createGunzip({ chunkSize: chunkBytes });
  if (!/^(28b52ffd|5.2a4d18)$/.test(magic)) throw bundleUnsafe(`the bundle is ${formOf(magic)}neither gzip nor zstd`);
  const params = { [constants.ZSTD_d_windowLogMax]: zstdWindowLog };
  return createZstdDecompress({ chunkSize: chunkBytes, params, rejectGarbageAfterEnd: true });
}

/** The form of another file, by its first bytes, with a comma; '' for one that nobody takes for an archive. */
function formOf(magic: string): string {
  const forms: [RegExp, string][] = [
    [/^fd377a58/, 'xz'],
    [/^425a68/, 'bzip2'],
    [/^504b0/, 'zip'],
    [/^377abcaf/, '7z'],
  ];
  const [, form] = forms.find(([start]) => start.test(magic)) ?? [];
  return form === undefined ? '' : `${form}, `;
}

async function* validatedBlocks(
  chunks: AsyncIterable<Buffer>,
  caps: BundleLimits & { compressed: number },
  validated: ArchiveEntry[],
): AsyncGenerator<Buffer> {
  const walk = new ArchiveWalk(caps);
  const maxUnpacked = Math.max(caps.compressed * expansionLimit.maxRatio, expansionLimit.exemptBytes);
  let [rest, unpacked]: [Buffer, number] = [Buffer.alloc(0), 0];
  for await (const chunk of chunks) {
    unpacked += chunk.length;
    if (unpacked > maxUnpacked)
      throw bundleUnsafe(`unpacked it is more than ${expansionLimit.maxRatio} times its size`);
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % blockBytes);
    validated.push(...walk.validateBlocks(bytes.subarray(0, whole)));
    rest = bytes.subarray(whole);
    yield bytes.subarray(0, whole);
  }
  walk.finish(rest.length);
}

interface ArchiveWriter {
  into: string;
  validated: ArchiveEntry[];
  contents: BundleContents;
}

async function writeEntries(chunks: AsyncIterable<Buffer>, writer: ArchiveWriter): Promise<void> {
  const { into, validated, contents } = writer;
  const created = new Set(['']);
  const files = new Set<number>();
  const writeEntry = (read: ReadEntry): void => {
    const entry = validated.shift();
    if (entry === undefined || !isSameEntry(entry, read)) throw bundleUnsafe('the archive can be read in two ways');
    for (const dir of parentsOf(entry.path)) makeDirectory(into, dir, created);
    if (entry.kind === 'file') files.add(streamToFile(read, entry, writer));
    else makeDirectory(into, entry.path, created);
    read.on('end', () => closeAll(files)).resume();
  };
  const parser = new Parser({ strict: true, onReadEntry: writeEntry });
  try {
    for await (const chunk of chunks) if (chunk.length > 0) parser.write(chunk);
    parser.end();
  } finally {
    closeAll(files);
  }
  if (validated.length > 0) throw bundleUnsafe('the archive can be read in two ways');
  contents.directories = [...created].slice(1);
}

function isSameEntry(entry: ArchiveEntry, read: ReadEntry): boolean {
  const kind = read.type === 'Directory' ? 'directory' : 'file';
  return entryPathOf(read.path) === entry.path && kind === entry.kind && read.size === entry.size;
}

function makeDirectory(into: string, dir: string, created: Set<string>): void {
  if (created.has(dir)) return;
  mkdirSync(join(into, dir));
  chmodSync(join(into, dir), 0o755);
  created.add(dir);
}

/** Creates the file and writes its bytes as they arrive, so none are buffered. */
function streamToFile(read: ReadEntry, { path, mode, size }: ArchiveEntry, { into, contents }: ArchiveWriter): number {
  const file = openSync(join(into, path), 'wx');
  const executable = (mode & 0o100) !== 0;
  fchmodSync(file, executable ? 0o755 : 0o644);
  const hash = createHash('sha256');
  read.on('data', (bytes) => {
    hash.update(bytes);
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
  });
  read.on('end', () => contents.files.push({ path, size, sha256: hash.digest('hex'), executable }));
  return file;
}

function closeAll(files: Set<number>): void {
  for (const file of files) closeSync(file);
  files.clear();
}

async function emptyDirectory(into: string): Promise<void> {
  const names = await readdir(into).catch(() => []);
  const limits = { signal: AbortSignal.timeout(cleanupTimeoutMs), untilMs: Infinity };
  for (const name of names) await removeTree(join(into, name), limits);
}

const trailingBytes = () => bundleUnsafe('bytes follow the end of the archive');

function faultOf(error: unknown, { file, into, signal }: Pick<UnpackRequest, 'file' | 'into' | 'signal'>): Fault {
  if (error instanceof Fault) return error;
  if (signal.aborted) return new Fault('stopped', 'stopped while unpacking the bundle');
  const { code, syscall } = error as NodeJS.ErrnoException;
  // a gzip stream that ended before its file
  if (code === 'ABORT_ERR') return trailingBytes();
  if (code === 'ZSTD_error_frameParameter_windowTooLarge')
    return bundleUnsafe(
      `its zstd window is larger than ${2 ** (zstdWindowLog - 20)} MiB`,
      'compress it with level 19 at most, without --ultra and --long',
    );
  if (syscall === undefined) return bundleUnsafe(`the archive is damaged (${code ?? 'unreadable'})`);
  return syscall === 'read' ? diskFault('read', file, error) : diskFault('write', into, error);
}
