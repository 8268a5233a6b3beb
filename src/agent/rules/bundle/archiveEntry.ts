import { quoted, type Header } from './tarHeader.ts';

/** One file or directory of a bundle. */
export interface Entry {
  /** Relative, without a leading `./` or a closing `/`; '' is the root itself. */
  path: string;
  kind: 'file' | 'directory';
  mode: number;
  /** Bytes. */
  size: number;
}

/** What the entries before take up, by folded path; `implied` directories were only named as parents so far. */
export type Taken = ReadonlyMap<string, { path: string; kind: 'file' | 'directory'; implied: boolean }>;

/** The entry that a header announces, or the sentence that refuses it (spec §5). */
export function judgeEntry(header: Header, taken: Taken): Entry | string {
  const name = quoted(header.name);
  const fault = typeFault(header) ?? nameFault(header.name);
  if (fault !== null) return `${name} ${fault}`;
  const entry: Entry = {
    path: pathOf(header.name),
    kind: header.type === '5' ? 'directory' : 'file',
    mode: header.mode,
    size: header.size,
  };
  const own = pathFault(entry, header.name) ?? collision(entry, taken);
  return own === null ? entry : `${name} ${own}`;
}

/** The places that `entry` takes up: its parents, outermost first, then its own. */
export function placesOf(entry: Entry): [string, { path: string; kind: 'file' | 'directory'; implied: boolean }][] {
  const parents = parentsOf(entry.path).map((path) => ({ path, kind: 'directory' as const, implied: true }));
  return [...parents, { path: entry.path, kind: entry.kind, implied: false }].map((place) => [fold(place.path), place]);
}

/** The path that a tar name means: `./a/` is `a`, `.` and `./` are the root ''. */
export function pathOf(name: string): string {
  return name === '.' ? '' : name.replace(/^\.\//, '').replace(/\/$/, '');
}

/** Directories above `path`, outermost first. */
export function parentsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Longest path and name, in bytes; the release's own path comes before it and the system allows 4096 and 255. */
const longest = { path: 1024, name: 255 };

const otherTypes: Record<string, string | undefined> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a FIFO',
  K: 'a link with a long target',
  S: 'a sparse file',
};

function typeFault({ type, mode, size }: Header): string | null {
  if (type !== '0' && type !== '5') return `is ${otherTypes[type] ?? `of the unknown type ${quoted(type)}`}`;
  if (type === '5' && size !== 0) return 'is a directory with content';
  return (mode & 0o7000) === 0 ? null : 'has a setuid, setgid or sticky bit';
}

function nameFault(name: string): string | null {
  if (name === '') return 'has no name';
  if (name.startsWith('/')) return 'is an absolute path';
  if (name.includes('\\')) return 'holds a backslash';
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) return 'holds a character that cannot be shown';
  return Buffer.byteLength(name) > longest.path ? `is longer than ${longest.path} bytes` : null;
}

function pathFault({ path, kind }: Entry, name: string): string | null {
  if (kind === 'file' && (path === '' || name.endsWith('/'))) return 'is a file with the name of a directory';
  if (path === '') return null;
  const parts = path.split('/');
  if (parts.includes('..')) return 'leads out of the bundle';
  if (parts.includes('') || parts.includes('.')) return 'is not a plain path';
  if (parts.some((part) => Buffer.byteLength(part) > longest.name))
    return `has a part longer than ${longest.name} bytes`;
  const folded = parts.map(fold);
  if (folded.includes('.env')) return 'is a .env file, which only the agent writes';
  return folded[0]?.startsWith('.deployd') ? 'takes a name that the agent keeps for itself' : null;
}

function collision(entry: Entry, taken: Taken): string | null {
  for (const parent of parentsOf(entry.path)) {
    const there = taken.get(fold(parent));
    if (there?.kind === 'file') return `lies below the file ${quoted(there.path)}`;
    if (there !== undefined && there.path !== parent) return `collides with ${quoted(there.path)} but for its spelling`;
  }
  const there = taken.get(fold(entry.path));
  if (there === undefined) return null;
  if (there.path !== entry.path) return `collides with ${quoted(there.path)} but for its spelling`;
  return there.implied && entry.kind === 'directory' ? null : 'occurs twice';
}

/** Equal for names that some filesystem or reader would take for the same. */
function fold(path: string): string {
  return path.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}
