import { judgeEntry, placesOf, type Entry } from './archiveEntry.ts';
import {
  blockBytes,
  isZero,
  readHeader,
  readLongName,
  readPax,
  unsafe,
  type Extension,
  type Header,
} from './tarHeader.ts';

/** Caps of a bundle's content: bytes of all bodies, and files and directories. */
export interface Caps {
  readonly unpacked_bytes: number;
  readonly bundle_entries: number;
}

/**
 * Walks through a tar archive block by block and judges every header before its body is reached (spec §5).
 *
 * - A chunk that `judge` let pass holds nothing but entries that may be written.
 * - Its memory is bounded by the caps, whatever the archive says.
 * - An archive is whole only when `end` did not throw.
 */
export class Walk {
  readonly #caps: Caps;
  readonly #taken = new Map<string, { path: string; kind: 'file' | 'directory'; implied: boolean }>();
  #bytes = 0;
  #blocks = 0;
  #endBlocks = 0;
  /** Bytes of the present body that are still to come, without padding. */
  #body = 0;
  #meta: { type: string; parts: Buffer[] } | null = null;
  #extension: Extension | null = null;

  constructor(caps: Caps) {
    this.#caps = caps;
  }

  /** The entries that begin in the next whole blocks. Throws `BUNDLE_UNSAFE`. */
  judge(blocks: Buffer): Entry[] {
    const entries: Entry[] = [];
    for (let at = 0; at < blocks.length; at += blockBytes) {
      const block = blocks.subarray(at, at + blockBytes);
      const entry = this.#body > 0 ? this.#passBody(block) : this.#passHeader(block);
      if (entry !== null) entries.push(entry);
      this.#blocks++;
    }
    return entries;
  }

  /** After the last block; `rest` are the bytes that fill no block. Throws `BUNDLE_UNSAFE`. */
  end(rest: number): void {
    if (this.#body > 0 || this.#endBlocks < 2 || rest > 0)
      throw unsafe('the archive is cut short or not a tar archive');
  }

  #passBody(block: Buffer): null {
    const part = block.subarray(0, Math.min(this.#body, blockBytes));
    this.#body -= part.length;
    this.#meta?.parts.push(Buffer.from(part));
    if (this.#body === 0 && this.#meta !== null) this.#endMeta(this.#meta);
    return null;
  }

  #passHeader(block: Buffer): Entry | null {
    if (isZero(block)) return this.#passEnd();
    if (this.#endBlocks > 0) throw unsafe('something follows the end of the archive');
    const header = readHeader(block);
    this.#count(header.size);
    this.#body = header.size;
    return 'xgL'.includes(header.type) ? this.#beginMeta(header) : this.#begin(header);
  }

  #passEnd(): null {
    if (this.#extension !== null) throw unsafe('an extension header belongs to nothing');
    if (++this.#endBlocks > mostEndBlocks) throw unsafe('too much padding follows the end of the archive');
    return null;
  }

  #beginMeta({ type, size }: Header): null {
    if (size === 0 || size > mostMetaBytes) throw unsafe(`an extension header of ${size} bytes`);
    if (this.#extension !== null) throw unsafe('an entry has several extension headers');
    if (type === 'g' && this.#blocks > 0) throw unsafe('a global header stands in the middle of the archive');
    this.#meta = { type, parts: [] };
    return null;
  }

  #endMeta({ type, parts }: { type: string; parts: Buffer[] }): void {
    const body = Buffer.concat(parts);
    const extension = type === 'L' ? readLongName(body) : readPax(body, type === 'g');
    if (type !== 'g') this.#extension = extension;
    this.#meta = null;
  }

  #begin(header: Header): Entry {
    const { name, size } = this.#extension ?? { name: null, size: null };
    this.#extension = null;
    if (size !== null && size !== header.size) throw unsafe('an entry has two sizes');
    const entry = judgeEntry({ ...header, name: name ?? header.name }, this.#taken);
    if (typeof entry === 'string') throw unsafe(entry);
    for (const [key, place] of placesOf(entry)) {
      if (!place.implied || !this.#taken.has(key)) this.#taken.set(key, place);
    }
    const most = this.#caps.bundle_entries;
    if (this.#taken.size > most) throw unsafe(`more than ${most} files and directories (limits.bundle_entries)`);
    return entry;
  }

  #count(size: number): void {
    this.#bytes += size;
    const most = this.#caps.unpacked_bytes;
    if (this.#bytes > most) throw unsafe(`more than ${most} bytes unpacked (limits.unpacked_bytes)`);
  }
}

/** 1 MiB: archivers pad to their record size, which is 10 KiB unless told otherwise. */
const mostEndBlocks = 2048;

/** 64 KiB: an honest one holds a path and a few numbers. */
const mostMetaBytes = 65_536;
