import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { chmod, constants, copyFile, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { Fault, throwIfStopped } from '../../../machines/fault.ts';
import { isENOENT, withDiskFault } from '../../core/errors.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import type { BundleLimits } from '../archive/archiveEntries.rules.ts';
import { bringBackLines, IGNORE_NAME, type LeavesOut, parseIgnoreFile } from '../archive/leftOut.rules.ts';
import { MANIFEST_NAME, UNFINISHED_NAME } from '../archive/pack.ts';
import { bundleUnsafe } from '../archive/tarHeader.rules.ts';
import { withBundleAt } from '../bundleAt.ts';
import { maxCharacters } from '../compose/composeNode.rules.ts';
import { abortedPlan } from '../plan/plan.rules.ts';
import { bundleFactsOf } from '../readBundle.ts';
import { type ImportedBundle, type ImportVerdict, verdictOf } from './importProject.rules.ts';
import type { PathKind, ProjectTree, TreeFile } from './importWork.rules.ts';

/** Whether a directory can be made, or is empty, so that nothing is overwritten. */
export async function isFree(directory: string): Promise<boolean> {
  return readdir(directory).then((names) => names.length === 0, isENOENT);
}

/** Writes the bundle into a directory that `isFree`: all of it or nothing. Throws Faults of the disk. */
export async function writeImportedBundle(
  directory: string,
  { bundle, project }: { bundle: ImportedBundle; project: DiskProject },
  signal: AbortSignal,
): Promise<void> {
  const temporary = `${directory}.${process.pid}.tmp`;
  try {
    await withDiskFault('write', temporary, () => mkdir(temporary, { recursive: true }));
    const texts = [
      [MANIFEST_NAME, `${JSON.stringify(bundle.manifest, null, 2)}\n`] as const,
      ...bundle.composeFiles,
      ...ignoreFileOf(bundle, project),
    ];
    for (const [path, text] of texts)
      await writeBelow(temporary, path, (file) => writeFile(file, text, { flag: 'wx' }));
    for (const [path, from] of bundle.copies) {
      throwIfStopped(signal);
      const source = project.fileAt(from);
      if (source === null) throw new Fault('failed', `failed: ${from} was removed while it was copied`);
      await writeBelow(temporary, path, (file) => copyNew(source, file));
    }
    await withDiskFault('write', directory, () => rename(temporary, directory));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Marks the bundle in a directory, which must not be packed because it differs from its project; without lines it removes the mark. */
export async function markUnfinished(directory: string, lines: readonly string[]): Promise<void> {
  const file = join(directory, UNFINISHED_NAME);
  const text = lines.map((line) => `${line}\n`).join('');
  await withDiskFault('write', file, () => (text === '' ? rm(file, { force: true }) : writeFile(file, text)));
}

/** The project's ignore file, with lines that keep paths in the compose files that `pack` would leave out. */
function ignoreFileOf({ composeFiles, copies }: ImportedBundle, project: DiskProject): [path: string, text: string][] {
  const lines = bringBackLines([...composeFiles.keys(), ...copies.keys()], project.leavesOut);
  const own = (project.ignoreText ?? '').replace(/\n?$/, '\n').replace(/^\n$/, '');
  return project.ignoreText === null && lines.length === 0
    ? []
    : [[IGNORE_NAME, `${own}${lines.map((line) => `${line}\n`).join('')}`]];
}

/** Validates the bundle like a host that grants all required permits. */
export async function judgeImportedBundle(
  directory: string,
  limits: BundleLimits,
  signal: AbortSignal,
): Promise<ImportVerdict> {
  return withBundleAt({ path: directory, limits, signal }, async (bundle) => {
    if ('refusal' in bundle) return { permits: {}, plan: abortedPlan([bundle.refusal], bundle.sha), start_first: [] };
    return verdictOf(await bundleFactsOf(bundle, signal));
  });
}

/** Writes a file below a directory, and creates the directories above it. Never writes outside the directory. */
async function writeBelow(directory: string, path: string, write: (file: string) => Promise<void>): Promise<void> {
  const file = resolve(directory, path);
  if (!file.startsWith(`${directory}${sep}`)) throw new Fault('failed', `failed: ${path} would lie outside the bundle`);
  await withDiskFault('write', file, async () => {
    await mkdir(dirname(file), { recursive: true });
    await write(file);
  });
}

/** Copies a file with its executable bit, but no other part of its mode. */
async function copyNew(from: string, file: string): Promise<void> {
  const { mode } = await stat(from);
  await copyFile(from, file, constants.COPYFILE_EXCL);
  await chmod(file, (mode & 0o100) === 0 ? 0o644 : 0o755);
}

/** A compose project on the disk, with the real paths of its files. */
export interface DiskProject extends ProjectTree {
  /** The real path of a regular file; null for anything else. */
  fileAt: (path: string) => string | null;
  /** Paths that `filesBelow` has left out so far; a directory ends with a slash. */
  leftOut: ReadonlySet<string>;
  /** Text of the project's ignore file; null if there is none. */
  ignoreText: string | null;
  leavesOut: LeavesOut;
}

/** Largest number of files and directories to examine below a directory. */
const maxEntries = 10_000;
/** UTF-8 takes up to 4 bytes per character. */
const maxTextBytes = 4 * maxCharacters;

/**
 * Opens a project's directory, except the absolute path `without`. Follows links only inside the directory. Throws the
 * system's error if the directory does not exist.
 */
export function openDiskProject(directory: string, without: string): DiskProject {
  const root = realpathSync(directory);
  const locate = (path: string) => locateBelow(root, path);
  const fileAt = (path: string) => {
    const found = locate(path);
    return found?.kind === 'file' ? found.real : null;
  };
  const textOf = (path: string) => {
    const file = fileAt(path);
    return file === null ? null : orNull(() => readRegularFile(file, maxTextBytes).toString('utf8'));
  };
  const ignoreText = textOf(IGNORE_NAME);
  const parsed = parseIgnoreFile(ignoreText);
  if ('fault' in parsed) throw bundleUnsafe(parsed.fault.text, parsed.fault.cure);
  const { leavesOut } = parsed;
  const leftOut = new Set<string>();
  /** Breadth first; a linked directory is walked once in each place, and never inside itself. */
  const filesBelow = (path: string) => {
    const files: TreeFile[] = [];
    const queue: { below: string; above: readonly string[] }[] = [{ below: '', above: [] }];
    let entries = 0;
    for (const { below: parent, above } of queue) {
      const { kind: found, real = '' } = locate(join(path, parent)) ?? {};
      if (found !== 'directory' || above.includes(real) || real === without) continue;
      for (const name of orNull(() => readdirSync(real)) ?? []) {
        const below = join(parent, name);
        const { kind, size } = locate(join(path, below)) ?? { kind: 'foreign', size: 0 };
        if (leavesOut(join(path, below), kind === 'directory'))
          leftOut.add(`${join(path, below)}${kind === 'directory' ? '/' : ''}`);
        else if (++entries > maxEntries) return null;
        else if (kind === 'directory') queue.push({ below, above: [...above, real] });
        else files.push({ path: below, size, kind });
      }
    }
    return files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  };
  return { fileAt, textOf, leftOut, ignoreText, leavesOut, filesBelow, kindOf: (path) => locate(path)?.kind ?? null };
}

function orNull<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** The real location of a path: below the project or at the path itself; `foreign` if a link leads elsewhere. */
function locateBelow(root: string, path: string): { real: string; kind: PathKind; size: number } | null {
  const plain = resolve(root, path);
  try {
    const real = realpathSync(plain);
    const stats = statSync(real);
    const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'special';
    const isOwn = real === plain || real === root || real.startsWith(`${root}${sep}`);
    return { real, kind: isOwn ? kind : 'foreign', size: isOwn ? stats.size : 0 };
  } catch {
    const isLink = lstatSync(plain, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return isLink ? { real: plain, kind: 'foreign', size: 0 } : null;
  }
}
