import { printable } from '../../../protocol/printable.ts';
import {
  becomeVolume,
  bindMountsOf,
  mountTargetsOf,
  projectPathOf,
  type BindMount,
  type MountContext,
} from './bindMounts.ts';
import { bringDirectory, bringFile, isKeyFile } from './bringFiles.ts';
import { directoryUse, looksLikeFile } from './directoryUse.ts';
import { replaceHostMount } from './hostMounts.ts';
import { leaveUndecided, tellChange, type ImportWork } from './importWork.ts';
import { joinPath, type TreeFile } from './projectTree.ts';

/** Brings mounted files along, and makes named volumes of directories that hold data. */
export function replaceMounts(work: ImportWork): void {
  const found = bindMountsOf(work);
  const written = found.filter(({ mount }) => holdsData(mount, work));
  const dataPaths = new Set(written.map(({ mount }) => projectPathOf(mount)));
  for (const { mount, document, owner } of found)
    replaceMount(mount, { work, document, dataPaths, place: { owner, key: 'volumes' } });
}

interface Context extends MountContext {
  /** Directories into which a service writes its data, so that all services mount a volume in their place. */
  dataPaths: ReadonlySet<string>;
}

function isAbove(path: string): boolean {
  return /^(\.|\.\.(\/\.\.)*)$/.test(path);
}

function holdsData(mount: BindMount, { tree }: ImportWork): boolean {
  const path = projectPathOf(mount);
  if (/^[/~]|\$/.test(mount.source) || mount.isReadOnly || isAbove(path) || tree.kindOf(path) !== 'directory')
    return false;
  return directoryUse(tree.filesBelow(path), mount.target, false) === 'data';
}

function replaceMount(mount: BindMount, context: Context): void {
  const { source } = mount;
  if (source.includes('$')) return;
  if (/^[/~]/.test(source)) replaceHostMount(mount, context);
  else replaceProjectPath(mount, projectPathOf(mount), context);
}

function replaceProjectPath(mount: BindMount, path: string, context: Context): void {
  const { work, place } = context;
  const kind = work.tree.kindOf(path);
  if (kind === 'directory') bringMountedDirectory(mount, path, context);
  else if (kind !== null) {
    if (mayComeAlong(path, kind, context)) {
      onlyRead(mount, { path, holdsTargets: true }, context);
      moveSource(mount, path, bringFile(path, work));
    }
  } else if (looksLikeFile(path) && looksLikeFile(mount.target))
    leaveUndecided(work, place, [`${printable(mount.source)} is not there`, 'make the file, or take the mount out']);
  else becomeVolume(mount, { path, why: 'the project has no such directory' }, context);
}

function bringMountedDirectory(mount: BindMount, path: string, context: Context): void {
  const { work, place, dataPaths } = context;
  const files = path.startsWith('..') && isAbove(path) ? null : filesToBring(path, work);
  if (dataPaths.has(path) || files?.length === 0) {
    becomeVolume(mount, { path, why: 'it holds data; copy what is there into the volume' }, context);
    return;
  }
  if (files === null || directoryUse(files, mount.target, true) === 'data') {
    const cure = 'mount what the service needs of it, or a named volume';
    leaveUndecided(work, place, [`${printable(mount.source)} is too large or too empty to come along`, cure]);
    return;
  }
  const open = files.filter((file) => mayComeAlong(joinPath(path, file.path), file.kind, context));
  tellChange(work, place, [`${printable(mount.source)} comes along (files: ${open.length})`, 'it is configuration']);
  const inside = targetsBelow(mount.target, context);
  const holdsTargets = inside.every((target) => open.some((file) => `${file.path}/`.startsWith(`${target}/`)));
  onlyRead(mount, { path, holdsTargets }, context);
  moveSource(mount, path, bringDirectory(path, open, work));
}

/** Where the same services mount something else below a directory of the container, relative to it. */
function targetsBelow(target: string, { work, place }: Context): string[] {
  const above = `${target.replace(/\/+$/, '')}/`;
  const all = mountTargetsOf(work).filter((other) => other.owner === place.owner && other.target.startsWith(above));
  return all.map((other) => other.target.slice(above.length).replace(/\/+$/, '')).filter(Boolean);
}

/**
 * Mounts a path of the bundle read-only, as a bundle must, unless the container is known to write there. `holdsTargets` tells
 * whether the path has a place for each mount below it, which the engine could not make in one that is read-only.
 */
function onlyRead(
  mount: BindMount,
  { path, holdsTargets }: { path: string; holdsTargets: boolean },
  { work, place }: Context,
): void {
  if (mount.isReadOnly) return;
  const source = printable(mount.source);
  if (mount.isWrittenAsWritable || isKnownToBeWritten(path, mount.target))
    leaveUndecided(work, place, [`a container may write to ${source}`, 'mount it with :ro, or a named volume there']);
  else if (!holdsTargets)
    leaveUndecided(work, place, [
      `something else is mounted below ${source}, where the directory has no place for it`,
      'make an empty file or directory there and mount it with :ro',
    ]);
  else {
    mount.makeReadOnly();
    tellChange(work, place, [`${source} is mounted read-only`, 'data belongs into a volume, which outlives a bundle']);
  }
}

/** Files and directories that programs are known to write, by their names and where they are mounted. */
function isKnownToBeWritten(path: string, target: string): boolean {
  return [path, target].some((each) => writtenFile.test(each)) || writtenTarget.test(target);
}

const writtenFile = /\.(db|sqlite3?|log|sock|pid|lock|rdb|aof)$|(^|\/)acme\.json$/i;
const writtenTarget =
  /^\/(config|data|storage|letsencrypt|acme|var\/log|var\/jenkins_home|etc\/(pihole|letsencrypt))\/?$|\/(uploads|storage|logs)\/?$/;

/** The files below a directory but for the project's compose files; null when there are too many. */
function filesToBring(path: string, { tree, documents }: ImportWork): TreeFile[] | null {
  const own = new Set(documents.map((document) => document.path));
  return tree.filesBelow(path)?.filter((file) => !own.has(joinPath(path, file.path))) ?? null;
}

/** Whether a file of a directory comes along; one that does not is left to decide. */
function mayComeAlong(path: string, kind: TreeFile['kind'], { work, place }: Context): boolean {
  const fault = kind === 'file' ? (isKeyFile(path, work) ? holdsKey : null) : kindFaults[kind];
  if (fault !== null)
    leaveUndecided(work, place, [`${printable(path)} ${fault[0]}, and does not come along`, fault[1]]);
  return fault === null;
}

const holdsKey: [string, string] = ['holds a secret', 'make it a secret of the compose file, with an `environment`'];
const kindFaults: Record<'foreign' | 'special', [string, string]> = {
  foreign: ['is a link that leads out of the project', 'put a file or directory there'],
  special: ['is no file or directory', 'put a file or directory there'],
};

function moveSource(mount: BindMount, path: string, into: string): void {
  if (into !== path) mount.setSource(`./${into}`);
}
