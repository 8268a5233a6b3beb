import type { RefusedFault } from '../../../machines/refusals.ts';
import {
  blockBytes,
  bundleUnsafe,
  type ExtensionHeader,
  isAllZero,
  parseHeader,
  parseLongName,
  parsePax,
  quoteForLog,
  type TarHeader,
} from './tarHeader.rules.ts';

/** One file or directory of a bundle. */
export interface ArchiveEntry {
  /** Relative, without a leading `./` and a trailing `/`; '' is the root. */
  path: string;
  kind: 'file' | 'directory';
  mode: number;
  /** Bytes. */
  size: number;
}

/** A path that an earlier entry has, or that is above it. */
export interface OccupiedPath {
  path: string;
  kind: 'file' | 'directory';
}

/** Paths of the earlier entries, by their lower-case spelling. */
export type OccupiedPaths = ReadonlyMap<string, OccupiedPath>;

/** The entry that a header describes, or why it is refused (spec §5). */
export function validateEntry(header: TarHeader, occupied: OccupiedPaths): ArchiveEntry | RefusedFault {
  const name = quoteForLog(header.name);
  const fault = typeFault(header) ?? nameFault(header.name);
  if (fault !== null) return faultOf(name, fault);
  const entry: ArchiveEntry = {
    path: entryPathOf(header.name),
    kind: isDirectory(header) ? 'directory' : 'file',
    mode: header.mode,
    size: header.size,
  };
  const own = pathFault(entry, header.name) ?? collision(entry, occupied);
  return own === null ? entry : faultOf(name, own);
}

/** Also an empty file whose name ends with a slash, as archivers without a type for directories write them. */
function isDirectory({ type, name, size }: TarHeader): boolean {
  return type === '5' || (type === '0' && size === 0 && name.endsWith('/'));
}

/** The fault of an entry, and its cure. */
type EntryFault = [what: string, cure: string];

function faultOf(name: string, [what, cure]: EntryFault): RefusedFault {
  return { text: `${name} ${what}`, cure };
}

/** The paths that `entry` occupies: its parents, outermost first, then its own. */
export function occupiedBy(entry: ArchiveEntry): [string, OccupiedPath][] {
  const parents = parentsOf(entry.path).map((path) => ({ path, kind: 'directory' as const }));
  return [...parents, { path: entry.path, kind: entry.kind }].map((occupied) => [
    occupied.path.toLowerCase(),
    occupied,
  ]);
}

/** The path of a tar name, without empty and `.` parts: `./a//b/` is `a/b`, and `.` is the root ''. */
export function entryPathOf(name: string): string {
  return name
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}

/** Parent directories of `path`, outermost first. */
export function parentsOf(path: string): string[] {
  return pathAndAncestors(path).slice(0, -1);
}

/** Bytes. The kernel allows 4096 for a path, which the release's own path precedes, and 255 for a name. */
const maxBytes = { path: 1024, name: 255 };
/** Each is looked at for every entry below it. */
const maxDirectories = 63;

const copyTarget = 'pack what it leads to in its place (tar --dereference)';
const leaveOut = 'leave it out';
const packPlain = 'pack it as an ordinary file';
const rename = 'give it another name';
const packRelative = 'pack it by its path in the bundle (tar --directory)';
const leaveOneOut = 'leave one of the two out, or rename it';

const forbiddenTypes: Record<string, EntryFault | undefined> = {
  '1': ['is a hard link', 'pack it as a file (tar --hard-dereference)'],
  '2': ['is a symbolic link', copyTarget],
  '3': ['is a character device', leaveOut],
  '4': ['is a block device', leaveOut],
  '6': ['is a FIFO', leaveOut],
  K: ['is a link with a long target', copyTarget],
  S: ['is a sparse file', packPlain],
};

function typeFault({ type, mode, size }: TarHeader): EntryFault | null {
  if (type !== '0' && type !== '5')
    return forbiddenTypes[type] ?? [`is of the unknown type ${quoteForLog(type)}`, packPlain];
  if (type === '5' && size !== 0) return ['is a directory with content', packPlain];
  // Directories inherit such a bit, and are unpacked as 0755.
  const isHarmless = (mode & 0o7000) === 0 || type === '5';
  return isHarmless ? null : ['has a setuid, setgid or sticky bit', 'remove it (chmod ug-s,-t)'];
}

/** Control characters and those that change the direction of text; joiners and hyphens of words are allowed. */
const invisible = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u00ad\u200c\u200d])\p{Cf}/u;

function nameFault(name: string): EntryFault | null {
  if (name === '') return ['has no name', leaveOut];
  if (name.startsWith('/')) return ['is an absolute path', packRelative];
  if (name.includes('\\')) return ['holds a backslash', rename];
  if (invisible.test(name)) return ['holds a character that cannot be shown', rename];
  return Buffer.byteLength(name) > maxBytes.path ? [`is longer than ${maxBytes.path} bytes`, rename] : null;
}

function pathFault({ path, kind }: ArchiveEntry, name: string): EntryFault | null {
  if (kind === 'file' && (path === '' || /\/\.?$/.test(name)))
    return ['is a file with the name of a directory', packPlain];
  if (path === '') return null;
  const parts = path.split('/');
  if (parts.includes('..')) return ['leads out of the bundle', packRelative];
  if (parts.some((part) => Buffer.byteLength(part) > maxBytes.name))
    return [`has a part longer than ${maxBytes.name} bytes`, rename];
  if (parts.length > maxDirectories + 1) return [`is below more than ${maxDirectories} directories`, 'move it up'];
  const folded = parts.map(foldPath);
  if (folded.includes('.env'))
    return ['is a .env file, which only the agent writes', 'put its names into variables or secrets of manifest.json'];
  return foldPath(path).startsWith('.deployd') ? ['takes a name that the agent keeps for itself', rename] : null;
}

function collision(entry: ArchiveEntry, occupied: OccupiedPaths): EntryFault | null {
  for (const parent of parentsOf(entry.path)) {
    const existing = occupied.get(parent.toLowerCase());
    if (existing?.kind === 'file') return [`is below the file ${quoteForLog(existing.path)}`, leaveOneOut];
    if (existing !== undefined && existing.path !== parent) return spellingFault(existing.path);
  }
  const existing = occupied.get(entry.path.toLowerCase());
  if (existing === undefined) return null;
  if (existing.path !== entry.path) return spellingFault(existing.path);
  return existing.kind === 'directory' && entry.kind === 'directory' ? null : ['occurs twice', leaveOneOut];
}

function spellingFault(path: string): EntryFault {
  return [`collides with ${quoteForLog(path)} but for its case`, leaveOneOut];
}

/** Equal for names that some filesystem or Unicode normalization does not distinguish. */
function foldPath(path: string): string {
  return path.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

/** Limits of a bundle's content: bytes of all files, and number of files and directories. */
interface ArchiveLimits {
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

/** A relative path without `.`, `..` and empty parts ('' is the root itself); null when it leaves the root. */
export function normalizeBundlePath(path: string): string | null {
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..' && kept.pop() === undefined) return null;
    if (part !== '' && part !== '.' && part !== '..') kept.push(part);
  }
  return kept.join('/');
}

/** A path and all directories above it. */
export function pathAndAncestors(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** All directories above these paths. */
export function directoriesOf(paths: Iterable<string>): Set<string> {
  const directories = new Set<string>();
  for (const path of paths) for (const above of pathAndAncestors(path).slice(0, -1)) directories.add(above);
  return directories;
}

/** The text of a refusal for a bundle that exceeds a limit of the configuration. */
export const limitDetails = {
  bundle_bytes: (limit: number, sizeBytes: number) => `${sizeBytes} bytes, limits.bundle_bytes allows ${limit}`,
  unpacked_bytes: (limit: number) => `more than ${limit} bytes unpacked (limits.unpacked_bytes)`,
  bundle_entries: (limit: number) => `more than ${limit} files and directories (limits.bundle_entries)`,
} as const;

/** The cure for a bundle that exceeds a limit. */
export function limitCure(name: keyof typeof limitDetails): string {
  return `leave out what no service uses, or raise limits.${name} of the host`;
}

/** Limits of a bundle: bytes of its archive, and of its content. */
export interface BundleLimits extends ArchiveLimits {
  readonly bundle_bytes: number;
}
