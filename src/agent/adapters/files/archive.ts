import { createHash } from 'node:crypto';
import { chmodSync, closeSync, fchmodSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import type { ReadEntry } from 'tar';
import { Parser } from 'tar/parse';
import { Fault } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import { openRegular } from '../../../platform/regularFile.ts';
import { parentsOf, pathOf, type Entry } from '../../rules/bundle/archiveEntry.ts';
import { blockBytes, unsafe } from '../../rules/bundle/tarHeader.ts';
import type { Contents } from '../../rules/bundle/inventory.ts';
import { Walk } from '../../rules/bundle/archiveWalk.ts';
import { diskFault } from './files.ts';
import { removeTree } from './removal.ts';

/** A bundle and the fresh directory, 0700 and empty, that it goes into. */
export interface Unpacking {
  file: string;
  into: string;
  limits: Settings['limits'];
  signal: AbortSignal;
}

/**
 * Unpacks a bundle (tar in gzip or zstd), streaming; files become 0644 or 0755, directories 0755 whatever the umask.
 *
 * - Two readers look at the archive: ours judges each header before its bytes go on, node-tar then reads the entry. Where
 *   they do not agree, nothing is written.
 * - On any failure `into` is empty again, as far as a second suffices. Nothing is synced here.
 *
 * Tells what it has written. Throws `BUNDLE_UNSAFE`, `DISK_WRITE_FAILED`, or `stopped` when the signal says so.
 */
export async function unpack({ file, into, limits, signal }: Unpacking): Promise<Contents> {
  const judged: Entry[] = [];
  const contents: Contents = { files: [], directories: [] };
  try {
    await using bundle = await openRegular(file, { follow: false }).catch((error: unknown) => {
      throw diskFault('read', file, error);
    });
    const caps = { ...limits, compressed: await sizeOf(bundle, limits) };
    await pipeline(
      bundle.createReadStream({ start: 0, autoClose: false, highWaterMark: pieceBytes }),
      await decompressor(bundle),
      (chunks: AsyncIterable<Buffer>) => onlyJudged(chunks, caps, judged),
      (chunks: AsyncIterable<Buffer>) => write(chunks, { into, judged, contents }),
      { signal },
    );
    return contents;
  } catch (error) {
    await clear(into);
    throw asFault(error, { file, into, signal });
  }
}

/** 200: text shrinks to a tenth, a bomb to a thousandth. Small bundles may shrink as they like. */
const ratio = { most: 200, freeBytes: 16 * 1024 * 1024 };

/** Bytes that are read, unpacked and written at a time: few enough for the memory, enough that their number costs little. */
const pieceBytes = 65_536;

/** Well within what a stop leaves; sweeps go on with the rest. */
const clearingMs = 1000;

/** 8 MiB, what `zstd -19` asks for; a hostile frame could ask for gigabytes. */
const zstdWindowLog = 23;

async function sizeOf(bundle: FileHandle, limits: Settings['limits']): Promise<number> {
  const { size } = await bundle.stat();
  if (size > limits.bundle_bytes) throw unsafe(`more than ${limits.bundle_bytes} bytes (limits.bundle_bytes)`);
  return size;
}

async function decompressor(bundle: FileHandle): Promise<Transform> {
  const { buffer } = await bundle.read(Buffer.alloc(4), 0, 4, 0);
  const magic = buffer.toString('hex');
  if (magic.startsWith('1f8b')) return createGunzip({ chunkSize: pieceBytes, rejectGarbageAfterEnd: true });
  if (magic !== '28b52ffd') throw unsafe('the bundle is neither gzip nor zstd');
  const params = { [constants.ZSTD_d_windowLogMax]: zstdWindowLog };
  return createZstdDecompress({ chunkSize: pieceBytes, params, rejectGarbageAfterEnd: true });
}

async function* onlyJudged(
  chunks: AsyncIterable<Buffer>,
  caps: Settings['limits'] & { compressed: number },
  judged: Entry[],
): AsyncGenerator<Buffer> {
  const walk = new Walk(caps);
  const most = Math.max(caps.compressed * ratio.most, ratio.freeBytes);
  let [rest, seen]: [Buffer, number] = [Buffer.alloc(0), 0];
  for await (const chunk of chunks) {
    seen += chunk.length;
    if (seen > most) throw unsafe(`unpacked it is more than ${ratio.most} times its size`);
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % blockBytes);
    judged.push(...walk.judge(bytes.subarray(0, whole)));
    rest = bytes.subarray(whole);
    yield bytes.subarray(0, whole);
  }
  walk.end(rest.length);
}

interface Writing {
  into: string;
  judged: Entry[];
  contents: Contents;
}

async function write(chunks: AsyncIterable<Buffer>, writing: Writing): Promise<void> {
  const { into, judged, contents } = writing;
  const made = new Set(['']);
  const files = new Set<number>();
  const place = (read: ReadEntry): void => {
    const entry = judged.shift();
    if (entry === undefined || !agree(entry, read)) throw unsafe('the archive can be read in two ways');
    for (const dir of parentsOf(entry.path)) makeDirectory(into, dir, made);
    if (entry.kind === 'file') files.add(receive(read, entry, writing));
    else makeDirectory(into, entry.path, made);
    read.on('end', () => closeAll(files)).resume();
  };
  const parser = new Parser({ strict: true, onReadEntry: place });
  try {
    for await (const chunk of chunks) if (chunk.length > 0) parser.write(chunk);
    parser.end();
  } finally {
    closeAll(files);
  }
  if (judged.length > 0) throw unsafe('the archive can be read in two ways');
  contents.directories = [...made].slice(1);
}

function agree(entry: Entry, read: ReadEntry): boolean {
  const kind = read.type === 'Directory' ? 'directory' : 'file';
  return pathOf(read.path) === entry.path && kind === entry.kind && read.size === entry.size;
}

function makeDirectory(into: string, dir: string, made: Set<string>): void {
  if (made.has(dir)) return;
  mkdirSync(join(into, dir));
  chmodSync(join(into, dir), 0o755);
  made.add(dir);
}

/** Opens the new file and lets its bytes flow into it at once, so that none of them wait in memory. */
function receive(read: ReadEntry, { path, mode, size }: Entry, { into, contents }: Writing): number {
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

async function clear(into: string): Promise<void> {
  const names = await readdir(into).catch(() => []);
  const patience = { signal: AbortSignal.timeout(clearingMs), untilMs: Infinity };
  for (const name of names) await removeTree(join(into, name), patience);
}

function asFault(error: unknown, { file, into, signal }: Omit<Unpacking, 'limits'>): Fault {
  if (error instanceof Fault) return error;
  if (signal.aborted) return new Fault('stopped', 'stopped while unpacking the bundle');
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return unsafe(`the archive is damaged (${code ?? 'unreadable'})`);
  return syscall === 'read' ? diskFault('read', file, error) : diskFault('write', into, error);
}
