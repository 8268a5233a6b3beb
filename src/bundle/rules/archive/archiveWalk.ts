import { validateEntry, occupiedBy, type ArchiveEntry, type OccupiedPath } from './archiveEntry.ts';
import { limitCure, limitDetails } from './limitDetails.ts';
import {
  blockBytes,
  isAllZero,
  parseHeader,
  parseLongName,
  parsePax,
  bundleUnsafe,
  type ExtensionHeader,
  type TarHeader,
} from './tarHeader.ts';

/** Limits of a bundle's content: bytes of all files, and number of files and directories. */
export interface ArchiveLimits {
  readonly unpacked_bytes: number;
  readonly bundle_entries: number;
}

/**
 * Validates a tar archive block by block, each header before its body (spec §5).
 *
 * - Blocks that passed `validateBlocks` contain only entries that may be written.
 * - Its memory is bounded by the limits, whatever the archive contains.
 * - An archive is complete only when `finish` did not throw.
 */
export class ArchiveWalk {
  readonly #limits: ArchiveLimits;
  readonly #occupied = new Map<string, OccupiedPath>();
  /** Also of directories that occur again, and global headers. */
  #entries = 0;
  #unpackedBytes = 0;
  #endBlocks = 0;
  /** Remaining bytes of the current body, without padding. */
  #bodyBytesLeft = 0;
  #openExtension: { type: string; parts: Buffer[] } | null = null;
  /** Applies to the next entry. */
  #extension: ExtensionHeader | null = null;

  constructor(limits: ArchiveLimits) {
    this.#limits = limits;
  }

  /** The entries that begin in the next complete blocks. Throws `BUNDLE_UNSAFE`. */
  validateBlocks(blocks: Buffer): ArchiveEntry[] {
    const entries: ArchiveEntry[] = [];
    for (let offset = 0; offset < blocks.length; offset += blockBytes) {
      const block = blocks.subarray(offset, offset + blockBytes);
      const entry = this.#bodyBytesLeft > 0 ? this.#readBody(block) : this.#readHeader(block);
      if (entry !== null) entries.push(entry);
    }
    return entries;
  }

  /** Call after the last block; `restBytes` is the number of bytes of an incomplete block. Throws `BUNDLE_UNSAFE`. */
  finish(restBytes: number): void {
    if (this.#endBlocks < 2 || restBytes > 0) throw bundleUnsafe('the archive is cut short or not a tar archive');
  }

  #readBody(block: Buffer): null {
    const part = block.subarray(0, Math.min(this.#bodyBytesLeft, blockBytes));
    this.#bodyBytesLeft -= part.length;
    this.#openExtension?.parts.push(Buffer.from(part));
    if (this.#bodyBytesLeft === 0 && this.#openExtension !== null) this.#endExtension(this.#openExtension);
    return null;
  }

  #readHeader(block: Buffer): ArchiveEntry | null {
    if (isAllZero(block)) return this.#readEndBlock();
    if (this.#endBlocks > 0) throw bundleUnsafe('something follows the end of the archive');
    const header = parseHeader(block);
    this.#countBytes(header.size);
    this.#bodyBytesLeft = header.size;
    return 'xgL'.includes(header.type) ? this.#beginExtension(header) : this.#beginEntry(header);
  }

  #readEndBlock(): null {
    if (this.#extension !== null) throw bundleUnsafe('an extension header belongs to nothing');
    if (++this.#endBlocks > maxEndBlocks) throw bundleUnsafe('too much padding follows the end of the archive');
    return null;
  }

  #beginExtension({ type, size }: TarHeader): null {
    if (size === 0 || size > maxExtensionBytes) throw bundleUnsafe(`an extension header of ${size} bytes`);
    if (this.#extension !== null) throw bundleUnsafe('an entry has several extension headers');
    if (type === 'g') this.#countEntry();
    this.#openExtension = { type, parts: [] };
    return null;
  }

  #endExtension({ type, parts }: { type: string; parts: Buffer[] }): void {
    const body = Buffer.concat(parts);
    const extension = type === 'L' ? parseLongName(body) : parsePax(body, type === 'g');
    if (type !== 'g') this.#extension = extension;
    this.#openExtension = null;
  }

  #beginEntry(header: TarHeader): ArchiveEntry {
    const { name, size } = this.#extension ?? { name: null, size: null };
    this.#extension = null;
    if (size !== null && size !== header.size) throw bundleUnsafe('an entry has two sizes');
    const entry = validateEntry({ ...header, name: name ?? header.name }, this.#occupied);
    if ('cure' in entry) throw bundleUnsafe(entry.text, entry.cure);
    for (const [key, path] of occupiedBy(entry)) this.#occupied.set(key, path);
    this.#countEntry();
    return entry;
  }

  #countEntry(): void {
    const limit = this.#limits.bundle_entries;
    if (Math.max(++this.#entries, this.#occupied.size) > limit)
      throw bundleUnsafe(limitDetails.bundle_entries(limit), limitCure('bundle_entries'));
  }

  #countBytes(size: number): void {
    this.#unpackedBytes += size;
    const limit = this.#limits.unpacked_bytes;
    if (this.#unpackedBytes > limit)
      throw bundleUnsafe(limitDetails.unpacked_bytes(limit), limitCure('unpacked_bytes'));
  }
}

/** 1 MiB: archivers pad to their record size, which is 10 KiB by default. */
const maxEndBlocks = 2048;

/** 1 MiB, as node-tar: a path and a few numbers, and the extended attributes of the file. */
const maxExtensionBytes = 2 ** 20;
