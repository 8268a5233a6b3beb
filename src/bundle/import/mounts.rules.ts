import { isSeq, type Node, YAMLSeq } from 'yaml';
import { printable } from '../../core/text.rules.ts';
import { isUnseen, normalizeHostPath } from '../policy/policyHost.rules.ts';
import {
  becomeVolume,
  type BindMount,
  bindMountOf,
  bindMountsOf,
  directoryUse,
  looksLikeFile,
  type MountContext,
  mountTargetsOf,
  projectPathOf,
} from './bindMounts.rules.ts';
import {
  bringDirectory,
  bringFile,
  type ImportWork,
  isKeyFile,
  joinPath,
  leaveUndecided,
  tellChange,
  type TreeFile,
} from './importWork.rules.ts';
import {
  effectiveOf,
  type ProjectDocument,
  sectionOf,
  type ServicePart,
  servicePartsOf,
} from './projectDocument.rules.ts';
import {
  entriesAt,
  isYesAt,
  type ListNode,
  mapAt,
  type MapNode,
  newMap,
  newScalar,
  ownValue,
  removeKey,
  setValue,
  textAt,
  valueAt,
} from './yamlNodes.rules.ts';

/**
 * Gives services the content of mounted files that hold a secret as secrets of the compose file. A file stays a mount if a
 * program may write to it, if it is not a text, or if compose cannot copy it into the container.
 */
export function replaceSecretFiles(work: ImportWork): void {
  for (const part of servicePartsOf(work.documents)) {
    const volumes = ownValue(part.map, 'volumes');
    const secrets = valueAt(part.map, part.document, 'secrets') ?? new YAMLSeq<Node>();
    if (!isSeq(volumes) || !isSeq(secrets) || isReadOnly(part, work)) continue;
    const isOwn = ownValue(part.map, 'secrets') === secrets || secrets.items.length === 0;
    for (const item of isOwn ? (volumes as ListNode).items.slice() : []) {
      const mount = bindMountOf(item, part.document);
      if (mount === null || !isSecretFile(mount, part, work)) continue;
      const { name, variable } = secretOf(projectPathOf(mount), part.document, work);
      const reference = newMap();
      setValue(reference, 'source', newScalar(name));
      setValue(reference, 'target', newScalar(mount.target));
      secrets.items.push(reference);
      setValue(part.map, 'secrets', secrets);
      volumes.items = volumes.items.filter((one) => one !== item);
      if (volumes.items.length === 0) removeKey(part.map, 'volumes');
      const what = `${printable(mount.source)} is the secret ${name} of the variable ${variable} now`;
      tellChange(work, { owner: part.owner, key: 'volumes' }, [what, 'it holds a secret, and a bundle holds none']);
    }
  }
}

function isReadOnly({ names }: ServicePart, { documents }: ImportWork): boolean {
  return names.some((name) => {
    const found = effectiveOf(documents, name, 'read_only');
    return found !== null && isYesAt(found.value, found.document);
  });
}

function isSecretFile(mount: BindMount, { owner }: ServicePart, work: ImportWork): boolean {
  const { source, target } = mount;
  const path = projectPathOf(mount);
  if (/^[/~]|\$/.test(source) || !/^\/[^$]*[^/$]$/.test(target) || work.tree.kindOf(path) !== 'file') return false;
  if (!isKeyFile(path, work) || mount.isWrittenAsWritable || isKnownToBeWritten(path, target)) return false;
  const text = work.tree.textOf(path) ?? '\0';
  const isAbove = mountTargetsOf(work).some((one) => one.owner === owner && target.startsWith(`${one.target}/`));
  return !isAbove && !/[\0\ufffd]/.test(text) && text.length < maxSecretCharacters;
}

/** A variable has at most 131 071 bytes. */
const maxSecretCharacters = 30_000;

/** The secret of the compose file with the content of a file: the same for the same file. */
function secretOf(path: string, document: ProjectDocument, work: ImportWork): { name: string; variable: string } {
  const plain = path.replace(/[^\w.-]+/g, '-').replace(/^[^A-Za-z\d]+/, '') || 'file';
  const variable = work.register.variableFor(plain.toUpperCase(), 'FILE', `file ${path}`);
  const taken = work.documents.flatMap((one) => entriesAt(valueAt(one.root, one, 'secrets'), one));
  const known = taken.find(([, part]) => textAt(valueAt(part, document, 'environment'), document) === variable);
  if (known !== undefined) return { name: known[0], variable };
  let name = plain;
  for (let count = 2; taken.some(([other]) => other === name); count++) name = `${plain}-${count}`;
  const definition = newMap();
  setValue(definition, 'environment', newScalar(variable));
  setValue(sectionOf(document, 'secrets'), name, definition);
  work.secretSources.set(variable, { path, isEnvFile: false });
  return { name, variable };
}

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
 * Mounts a path of the bundle read-only, as a bundle must, unless the container is known to write there. `holdsTargets`
 * is true if the path has a place for each mount below it, which the engine could not create in a read-only one.
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

const holdsKey: [string, string] = [
  'holds a secret',
  'make it a secret of the compose file, with an `environment`, or give --variable FILE if it holds none',
];
const kindFaults: Record<'foreign' | 'special', [string, string]> = {
  foreign: ['is a link that leads out of the project', 'put a file or directory there'],
  special: ['is not a file or directory', 'put a file or directory there'],
};

function moveSource(mount: BindMount, path: string, into: string): void {
  if (into !== path) mount.setSource(`./${into}`);
}

/**
 * A mount of a path of the host. Clocks are harmless to read. Temporary files, and a directory in a home directory,
 * become a named volume. Other paths stay: the host's policy permits them or not.
 */
function replaceHostMount(mount: BindMount, context: MountContext): void {
  if (mount.source.startsWith('~')) replaceHomeMount(mount, context);
  else if (isUnseen(normalizeHostPath(mount.source))) replaceUnseenMount(mount, context);
  else keepHostMount(mount, context);
}

function replaceHomeMount(mount: BindMount, context: MountContext): void {
  const { work, place } = context;
  const { source } = mount;
  const home = work.register.openValueOf('HOME');
  if (home !== null && /^~(\/|$)/.test(source)) {
    const written = `${home}${source.slice(1)}`.replaceAll('$', '$$$$');
    mount.setSource(written);
    tellChange(work, place, [`${printable(source)} is written out as ${printable(written)}`, 'a bundle has no home']);
  } else if (/^~\/+[^/]/.test(source) && !looksLikeFile(source)) {
    const why = 'a bundle has no home: copy what is there into the volume, or give --variable HOME=PATH';
    becomeVolume(mount, { path: source, why }, context);
  } else leaveUndecided(work, place, [`${printable(source)} is in somebody's home`, homeCure]);
}

const homeCure = 'write an absolute path, or give --variable HOME=PATH';

/** Directories of the agent. */
function replaceUnseenMount(mount: BindMount, context: MountContext): void {
  const path = normalizeHostPath(mount.source);
  if (/^\/dev\/shm(\/|$)/.test(path)) {
    becomeVolume(
      mount,
      { path, why: 'no host permits it; its content is in memory as before', keys: tmpfs() },
      context,
    );
  } else if (/^(\/var)?\/tmp(\/|$)/.test(path) && !looksLikeFile(path) && !/\/\.[^/]+$/.test(path)) {
    becomeVolume(mount, { path, why: 'no host permits it; only containers see what is in it now' }, context);
  } else leaveRefused(mount, context);
}

/** Keys of a volume in memory. */
function tmpfs(): MapNode {
  const [keys, options] = [newMap(), newMap()];
  for (const key of ['type', 'device']) setValue(options, key, newScalar('tmpfs'));
  setValue(keys, 'driver_opts', options);
  return keys;
}

function keepHostMount(mount: BindMount, context: MountContext): void {
  const { work, place } = context;
  const isClock = /^\/etc\/(localtime|timezone)$/.test(mount.source);
  if (isClock && !mount.isReadOnly) {
    mount.makeReadOnly();
    tellChange(work, place, [`${mount.source} is mounted read-only`, 'so a bundle may have it anywhere']);
  }
  if (/^r?slave$/.test(mount.propagation ?? '')) {
    mount.dropPropagation();
    const what = `the propagation ${mount.propagation ?? ''} of ${printable(mount.source)} is left out`;
    tellChange(work, place, [what, 'no host permits it; what is mounted below it later does not appear']);
  }
  if (neverPermitted.test(mount.source)) leaveRefused(mount, context);
}

/** The host itself, and where the engine and deployd keep what is theirs. */
const neverPermitted = /^\/+$|^\/var\/lib\/(docker|containers|containerd|deployd)(\/|$)|^\/etc\/deployd(\/|$)/;

function leaveRefused({ source }: BindMount, { work, place }: MountContext): void {
  leaveUndecided(work, place, [`${printable(source)} is permitted by no host`, 'take the mount out']);
}

/**
 * Writes volumes that are directories so that a host can permit them by their path; directories of the project, of a
 * home directory and of `/tmp` become volumes of the engine.
 */
export function replaceVolumeDrivers(work: ImportWork): void {
  for (const document of work.documents) {
    for (const [name, volume] of entriesAt(valueAt(document.root, document, 'volumes'), document)) {
      const map = mapAt(volume, document);
      if (map !== null) replaceDriver(map, { work, document, owner: `volume ${name}` });
    }
  }
}

interface DriverContext {
  work: ImportWork;
  document: ProjectDocument;
  owner: string;
}

function replaceDriver(map: MapNode, context: DriverContext): void {
  const { work, document, owner } = context;
  const mountpoint = textAt(valueAt(map, document, 'driver_opts', 'mountpoint'), document);
  if (textAt(valueAt(map, document, 'driver'), document) === 'local-persist' && mountpoint !== null) {
    setValue(map, 'driver', newScalar('local'));
    setValue(map, 'driver_opts', bindOptions(mountpoint));
    tellChange(work, { owner, key: 'driver' }, [
      `local-persist is a bind of ${printable(mountpoint)} now`,
      'a host permits directories, but no drivers',
    ]);
  }
  const isBind =
    textAt(valueAt(map, document, 'driver_opts', 'o'), document)
      ?.split(',')
      .includes('bind') === true;
  const device = textAt(valueAt(map, document, 'driver_opts', 'device'), document);
  if (isBind && device !== null && !device.includes('$')) replaceDirectory(map, device, context);
}

function bindOptions(device: string): MapNode {
  const options = newMap();
  for (const [key, text] of Object.entries({ type: 'none', o: 'bind', device }))
    setValue(options, key, newScalar(text));
  return options;
}

function replaceDirectory(map: MapNode, device: string, { work, owner }: DriverContext): void {
  const place = { owner, key: 'driver_opts' };
  if (device.startsWith('/') && !isUnseen(normalizeHostPath(device))) return;
  if (!/^[/~]/.test(device) && isConfiguration(joinPath('.', device), work)) {
    leaveUndecided(work, place, [`${printable(device)} holds configuration`, 'mount it by its path instead']);
    return;
  }
  for (const key of ['driver', 'driver_opts']) removeKey(map, key);
  tellChange(work, place, [`${printable(device)} is a volume of the engine now`, 'copy what is there into it']);
}

function isConfiguration(path: string, { tree }: ImportWork): boolean {
  return tree.kindOf(path) === 'directory' && directoryUse(tree.filesBelow(path), '', false) === 'config';
}
