import ignore from 'ignore';
import type { RefusedFault } from '../../../machines/refusals.ts';
import { quoteForLog } from './tarHeader.rules.ts';

/**
 * File at the root of a bundle with patterns as in .gitignore: further paths to leave out, and with `!` paths to keep.
 */
export const IGNORE_NAME = '.deployignore';

/** Names that `pack` and `import` leave out of a bundle, at any depth and in any case; a slash marks a directory. */
export const leftOutNames: readonly string[] = [
  ...['.git', '.hg', '.svn', '.bzr', 'CVS/'],
  ...['.deployd', '.deployd.*', '.env*', '!.env.example', '!.env.sample', '!.env.template', '!.env.dist'],
  ...['.npmrc', '.netrc', '.pypirc', '.git-credentials', '.aws', '.ssh', '.kube', '.gnupg'],
  ...['node_modules', '__pycache__', '.venv', '.terraform'],
  ...['.idea', '.vscode', '*.swp', '*.swo', '*~', '.#*'],
  ...['.DS_Store', '._*', '__MACOSX/', '.Spotlight-V100', '.Trashes', 'Thumbs.db', 'desktop.ini'],
];

/** Whether to leave out a path of a directory; not called for paths below a directory that is left out. */
export type LeavesOut = (path: string, isDirectory: boolean) => boolean;

const byName = ignore({ ignorecase: true }).add(leftOutNames);

/** Whether a name is left out by default, without an ignore file. */
function isLeftOutName(name: string, isDirectory: boolean): boolean {
  return !/^\.{0,2}$/.test(name) && byName.ignores(isDirectory ? `${name}/` : name);
}

/**
 * Parses an ignore file. The last line that matches a path takes precedence over the list of names. Null means that
 * there is no file.
 */
export function parseIgnoreFile(text: string | null): { leavesOut: LeavesOut } | { fault: RefusedFault } {
  const fault = text === null ? null : ignoreFault(text);
  if (fault !== null) return { fault };
  const own = ignore({ ignorecase: false }).add(text ?? '');
  const leavesOut = (path: string, isDirectory: boolean): boolean => {
    // An import may look above the directory of the file, whose patterns apply only below it.
    const isOutside = /^\.\.?(\/|$)/.test(path);
    const { ignored, unignored } = isOutside ? outside : own.test(isDirectory ? `${path}/` : path);
    return ignored || (!unignored && isLeftOutName(path.slice(path.lastIndexOf('/') + 1), isDirectory));
  };
  return { leavesOut };
}

const outside = { ignored: false, unignored: false };

/** Largest size of an ignore file in bytes. */
export const maxIgnoreBytes = 65_536;
/** Each wildcard in one part of a path multiplies the time of a comparison. */
const maxWildcards = 3;

function ignoreFault(text: string): RefusedFault | null {
  if (Buffer.byteLength(text) > maxIgnoreBytes)
    return { text: `${IGNORE_NAME} is longer than ${maxIgnoreBytes} bytes`, cure: 'use fewer and wider patterns' };
  const lines = text.split('\n');
  const line = lines.findIndex(hasManyWildcards);
  if (line < 0) return null;
  const what = `line ${line + 1} of ${IGNORE_NAME} has more than ${maxWildcards} wildcards in one part of a path`;
  return { text: what, cure: 'use a simpler pattern' };
}

function hasManyWildcards(line: string): boolean {
  const parts = line.startsWith('#') ? [] : line.split('/');
  const counts = parts.map((part) => part.match(/\*+/g)?.length ?? 0);
  return Math.max(0, ...counts) > maxWildcards || parts.filter((part) => part === '**').length > maxWildcards;
}

/** Literal names and paths that an ignore file keeps: `!tls/test.key` allows that file to contain a private key. */
export function allowedBy(text: string | null): (path: string) => boolean {
  const lines = (text ?? '').slice(0, maxIgnoreBytes).split(/\r?\n/);
  const literal = lines
    .filter((line) => /^![^*?[\\]+$/.test(line))
    .map((line) => line.slice(1).trim().replace(/\/$/, ''));
  const names = new Set(literal.filter((line) => !line.includes('/')));
  const paths = new Set(literal.filter((line) => line.includes('/')).map((line) => line.replace(/^\//, '')));
  return (path) => paths.has(path) || names.has(path.slice(path.lastIndexOf('/') + 1));
}

/** Lines for an ignore file that keep paths which would otherwise be left out. */
export function bringBackLines(paths: Iterable<string>, leavesOut: LeavesOut): string[] {
  const lines = new Set<string>();
  for (const path of paths) {
    const parts = path.split('/');
    parts.forEach((_, index) => {
      const above = parts.slice(0, index + 1).join('/');
      const isDirectory = index + 1 < parts.length;
      if (leavesOut(above, isDirectory)) lines.add(`!/${above}${isDirectory ? '/' : ''}`);
    });
  }
  return [...lines];
}

/** The paths that were left out of a directory; a long list contains only the first ones. */
export interface LeftOut {
  count: number;
  /** A directory ends with a slash. */
  paths: string[];
}

const maxPaths = 1000;
const shownPaths = 10;

/** Adds a path to the list. */
export function noteLeftOut(leftOut: LeftOut, path: string, isDirectory: boolean): void {
  leftOut.count++;
  if (leftOut.paths.length < maxPaths) leftOut.paths.push(isDirectory ? `${path}/` : path);
}

/** The first paths, and the number of further ones; null if there are none. */
export function formatLeftOut({ count, paths }: LeftOut): string | null {
  if (count === 0) return null;
  const more = count - Math.min(count, shownPaths);
  return paths.slice(0, shownPaths).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Kinds of content that no bundle should contain. */
export type FileSign = 'private key' | 'secret' | 'pointer';

/** Detects content that no bundle should contain; `text` has one character for each byte, and may be truncated. */
export function signOf(path: string, text: string): FileSign | null {
  // UTF-16 has a zero byte next to each letter.
  const plain = text.replaceAll('\0', '');
  if (holdsPrivateKey(plain) || puttyKey.test(plain)) return 'private key';
  if (plain.startsWith('version https://git-lfs.github.com/spec/')) return 'pointer';
  const isSecret = secretName.test(path) || token.test(plain) || credentialHeader.test(plain);
  return isSecret ? 'secret' : null;
}

/** Requires a body, so that a page about keys does not match; headers such as Proc-Type may come first. */
function holdsPrivateKey(text: string): boolean {
  let headers = 0;
  for (const { index } of text.matchAll(keyHeader))
    if (++headers > maxHeaders || keyBody.test(text.slice(index, index + headCharacters))) return true;
  return false;
}

const keyHeader = /----[- ]BEGIN [A-Z\d ]{0,40}PRIVATE KEY(?: BLOCK)?[- ]----/g;
const keyBody = /[A-Za-z\d+/]{32}/;
/** A file with more key headers counts as a file with a key. */
const maxHeaders = 100;
/** Longest distance in characters from the start of a key to the first line of its body. */
const headCharacters = 600;
const puttyKey = /^PuTTY-User-Key-File-\d/m;
const secretName =
  /(^|\/)(id_(rsa|dsa|ecdsa|ed25519)|credentials\.json|\.htpasswd|[^/]*\.(p12|pfx|jks|keystore|kdbx))$/i;
const token =
  /\b(?:gh[pousr]_[A-Za-z\d]{36}|github_pat_\w{22}|glpat-[\w-]{20}|AKIA[A-Z\d]{16}|xox[abprs]-[\w-]{10}|dpo_[\w-]{43})/;
const credentialHeader = /\bauthorization: ?(?:basic|bearer) [A-Za-z\d+/_.-]{16}/i;

/** Faults in the files of an archive, whatever program packed it. */
export interface ContentFaults {
  refused: RefusedFault[];
  notices: RefusedFault[];
}

interface JudgedContents {
  /** Paths of files and directories. */
  paths: readonly { path: string; isDirectory: boolean }[];
  signs: ReadonlyMap<string, FileSign>;
  /** Text of the ignore file in the archive. */
  ignoreText: string | null;
}

/**
 * Checks files for `verify` and `push`: git repositories and private keys are refused; other listed names and content
 * that looks like a secret cause a notice. Hosts do not check this, so that accepted bundles stay deployable.
 */
export function contentFaults({ paths, signs, ignoreText }: JudgedContents): ContentFaults {
  const isAllowed = allowedBy(ignoreText);
  const faults: ContentFaults = { refused: [], notices: [] };
  const outer = new Set<string>();
  for (const { path, isDirectory } of paths.toSorted((one, other) => (one.path < other.path ? -1 : 1))) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (isBelowOne(path, outer)) continue;
    if (name.toLowerCase() === '.git') {
      outer.add(path);
      faults.refused.push({
        text: `${quoteForLog(path)} is a git repository: its configuration may hold a token`,
        cure: leaveOut,
      });
    } else if (isLeftOutName(name, isDirectory) && !isAllowed(path)) {
      outer.add(path);
      faults.notices.push({
        text: `${quoteForLog(path)} does not belong into a bundle`,
        cure: bringBack(path, isDirectory),
      });
    }
  }
  for (const [path, sign] of signs) {
    if (isAllowed(path) || isBelowOne(path, outer)) continue;
    if (sign === 'private key')
      faults.refused.push({ text: `${quoteForLog(path)} holds a private key`, cure: keyCure(path) });
    else faults.notices.push(signNotice(path, sign));
  }
  return { refused: shortened(faults.refused), notices: shortened(faults.notices) };
}

const leaveOut = 'leave it out, as `deployctl bundle pack` does';

function bringBack(path: string, isDirectory: boolean): string {
  return `leave it out, or write the line !/${path}${isDirectory ? '/' : ''} into ${IGNORE_NAME}`;
}

function keyCure(path: string): string {
  return `make it a secret (\`deployctl secret set\`), or allow it by the line !/${path} in ${IGNORE_NAME}`;
}

function signNotice(path: string, sign: FileSign): RefusedFault {
  const name = quoteForLog(path);
  if (sign === 'pointer')
    return { text: `${name} is a pointer of Git LFS, not its content`, cure: 'run `git lfs pull` before packing' };
  return {
    text: `${name} looks like a secret`,
    cure: `make it a secret, or write the line !/${path} into ${IGNORE_NAME}`,
  };
}

function isBelowOne(path: string, outer: ReadonlySet<string>): boolean {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    if (outer.has(path.slice(0, at))) return true;
  return outer.has(path);
}

/** The first faults, and the number of further ones. */
function shortened(faults: RefusedFault[]): RefusedFault[] {
  const more = faults.length - shownPaths;
  return more <= 0
    ? faults
    : [...faults.slice(0, shownPaths), { text: `${more} more files of this kind`, cure: leaveOut }];
}
