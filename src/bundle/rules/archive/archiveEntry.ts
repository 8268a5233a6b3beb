import { pathAndAncestors } from '../compose/document/bundlePath.ts';
import { quoteForLog, type TarHeader } from './tarHeader.ts';

/** One file or directory of a bundle. */
export interface ArchiveEntry {
  /** Relative, without a leading `./` and a trailing `/`; '' is the root. */
  path: string;
  kind: 'file' | 'directory';
  mode: number;
  /** Bytes. */
  size: number;
}

/** Paths of the earlier entries, by folded path; an `implied` directory has no entry of its own so far. */
export type OccupiedPaths = ReadonlyMap<string, { path: string; kind: 'file' | 'directory'; implied: boolean }>;

/** The entry that a header describes, or the reason to refuse it (spec §5). */
export function validateEntry(header: TarHeader, occupied: OccupiedPaths): ArchiveEntry | string {
  const name = quoteForLog(header.name);
  const fault = typeFault(header) ?? nameFault(header.name);
  if (fault !== null) return `${name} ${fault}`;
  const entry: ArchiveEntry = {
    path: entryPathOf(header.name),
    kind: header.type === '5' ? 'directory' : 'file',
    mode: header.mode,
    size: header.size,
  };
  const own = pathFault(entry, header.name) ?? collision(entry, occupied);
  return own === null ? entry : `${name} ${own}`;
}

/** The paths that `entry` occupies: its parents, outermost first, then its own. */
export function occupiedBy(
  entry: ArchiveEntry,
): [string, { path: string; kind: 'file' | 'directory'; implied: boolean }][] {
  const parents = parentsOf(entry.path).map((path) => ({ path, kind: 'directory' as const, implied: true }));
  return [...parents, { path: entry.path, kind: entry.kind, implied: false }].map((occupied) => [
    foldPath(occupied.path),
    occupied,
  ]);
}

/** The path of a tar name: `./a/` is `a`; `.` and `./` are the root ''. */
export function entryPathOf(name: string): string {
  return name === '.' ? '' : name.replace(/^\.\//, '').replace(/\/$/, '');
}

/** Parent directories of `path`, outermost first. */
export function parentsOf(path: string): string[] {
  return pathAndAncestors(path).slice(0, -1);
}

/** Bytes. The kernel allows 4096 for a path, which the release's own path precedes, and 255 for a name. */
const maxBytes = { path: 1024, name: 255 };

const forbiddenTypes: Record<string, string | undefined> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a FIFO',
  K: 'a link with a long target',
  S: 'a sparse file',
};

function typeFault({ type, mode, size }: TarHeader): string | null {
  if (type !== '0' && type !== '5') return `is ${forbiddenTypes[type] ?? `of the unknown type ${quoteForLog(type)}`}`;
  if (type === '5' && size !== 0) return 'is a directory with content';
  return (mode & 0o7000) === 0 ? null : 'has a setuid, setgid or sticky bit';
}

function nameFault(name: string): string | null {
  if (name === '') return 'has no name';
  if (name.startsWith('/')) return 'is an absolute path';
  if (name.includes('\\')) return 'holds a backslash';
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) return 'holds a character that cannot be shown';
  return Buffer.byteLength(name) > maxBytes.path ? `is longer than ${maxBytes.path} bytes` : null;
}

function pathFault({ path, kind }: ArchiveEntry, name: string): string | null {
  if (kind === 'file' && (path === '' || name.endsWith('/'))) return 'is a file with the name of a directory';
  if (path === '') return null;
  const parts = path.split('/');
  if (parts.includes('..')) return 'leads out of the bundle';
  if (parts.includes('') || parts.includes('.')) return 'is not a plain path';
  if (parts.some((part) => Buffer.byteLength(part) > maxBytes.name))
    return `has a part longer than ${maxBytes.name} bytes`;
  const folded = parts.map(foldPath);
  if (folded.includes('.env')) return 'is a .env file, which only the agent writes';
  return foldPath(path).startsWith('.deployd') ? 'takes a name that the agent keeps for itself' : null;
}

function collision(entry: ArchiveEntry, occupied: OccupiedPaths): string | null {
  for (const parent of parentsOf(entry.path)) {
    const existing = occupied.get(foldPath(parent));
    if (existing?.kind === 'file') return `lies below the file ${quoteForLog(existing.path)}`;
    if (existing !== undefined && existing.path !== parent)
      return `collides with ${quoteForLog(existing.path)} but for its spelling`;
  }
  const existing = occupied.get(foldPath(entry.path));
  if (existing === undefined) return null;
  if (existing.path !== entry.path) return `collides with ${quoteForLog(existing.path)} but for its spelling`;
  return existing.implied && entry.kind === 'directory' ? null : 'occurs twice';
}

/** Equal for paths that some filesystem or Unicode normalization does not distinguish. */
function foldPath(path: string): string {
  return path.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}
