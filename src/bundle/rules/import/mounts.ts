import { isMap } from 'yaml';
import type { Node, Scalar } from 'yaml';
import { printable } from '../../../protocol/printable.ts';
import { bringDirectory, bringFile, isKeyFile } from './bringFiles.ts';
import { directoryUse, looksLikeFile } from './directoryUse.ts';
import { leaveUndecided, tellChange, type ImportWork, type Place } from './importWork.ts';
import { joinPath, type TreeFile } from './projectTree.ts';
import { bindSourceOf } from './rebase.ts';
import { sectionOf, servicePartsOf, type ServicePart } from './services.ts';
import {
  newMap,
  newScalar,
  ownValue,
  itemsAt,
  plainScalar,
  removeKey,
  setText,
  setValue,
  textAt,
  valueAt,
  type MapNode,
} from './yamlNodes.ts';
import { volumeNameFor } from './volumeNames.ts';

/** A bind mount: where it comes from, and how to write it anew. */
interface BindMount {
  source: string;
  target: string;
  isReadOnly: boolean;
  /** Takes another path of the bundle or the host. */
  setSource: (source: string) => void;
  makeReadOnly: () => void;
  /** Becomes a mount of a named volume. */
  setVolume: (name: string) => void;
}

/** Brings mounted files along, and makes named volumes of directories that hold data. */
export function replaceMounts(work: ImportWork): void {
  const found = mountsOf(work);
  const dataPaths = new Set(found.filter(({ mount }) => holdsData(mount, work)).map(({ mount }) => pathOf(mount)));
  for (const { mount, part } of found)
    replaceMount(mount, { work, part, dataPaths, place: { owner: part.owner, key: 'volumes' } });
}

interface Context {
  work: ImportWork;
  place: Place;
  part: ServicePart;
  /** Directories into which a service writes its data, so that all services mount a volume in their place. */
  dataPaths: ReadonlySet<string>;
}

/** Each bind mount, once. */
function mountsOf({ documents }: ImportWork): { mount: BindMount; part: ServicePart }[] {
  const seen = new Set<Node>();
  return servicePartsOf(documents).flatMap((part) =>
    itemsAt(valueAt(part.map, part.document, 'volumes'), part.document).flatMap((item) => {
      const mount = seen.has(item) ? null : bindMountOf(item, part);
      seen.add(item);
      return mount === null ? [] : [{ mount, part }];
    }),
  );
}

function pathOf({ source }: BindMount): string {
  return joinPath('.', source);
}

function isAbove(path: string): boolean {
  return /^(\.|\.\.(\/\.\.)*)$/.test(path);
}

function holdsData(mount: BindMount, { tree }: ImportWork): boolean {
  const path = pathOf(mount);
  if (/^[/~]|\$/.test(mount.source) || mount.isReadOnly || isAbove(path) || tree.kindOf(path) !== 'directory')
    return false;
  return directoryUse(tree.filesBelow(path), mount.target, false) === 'data';
}

function replaceMount(mount: BindMount, context: Context): void {
  const { work, place } = context;
  const { source } = mount;
  if (source.includes('$')) return;
  if (source.startsWith('~'))
    leaveUndecided(work, place, [`${printable(source)} is in somebody's home`, 'write an absolute path']);
  else if (source.startsWith('/')) replaceHostPath(mount, context);
  else replaceProjectPath(mount, pathOf(mount), context);
}

function replaceProjectPath(mount: BindMount, path: string, context: Context): void {
  const { work, place } = context;
  const kind = work.tree.kindOf(path);
  if (kind === 'directory') bringMountedDirectory(mount, path, context);
  else if (kind !== null) {
    if (mayComeAlong(path, kind, context)) moveSource(mount, path, bringFile(path, work));
  } else if (looksLikeFile(path) && looksLikeFile(mount.target))
    leaveUndecided(work, place, [`${printable(mount.source)} is not there`, 'make the file, or take the mount out']);
  else makeVolume(mount, path, context);
}

function bringMountedDirectory(mount: BindMount, path: string, context: Context): void {
  const { work, place, dataPaths } = context;
  if (dataPaths.has(path)) {
    makeVolume(mount, path, context);
    return;
  }
  const files = path.startsWith('..') && isAbove(path) ? null : work.tree.filesBelow(path);
  if (files === null || directoryUse(files, mount.target, true) === 'data') {
    const cure = 'mount what the service needs of it, or a named volume';
    leaveUndecided(work, place, [`${printable(mount.source)} is too large or too empty to come along`, cure]);
    return;
  }
  const open = files.filter((file) => mayComeAlong(joinPath(path, file.path), file.kind, context));
  moveSource(mount, path, bringDirectory(path, open, work));
  const why = mount.isReadOnly
    ? 'it is configuration'
    : 'it is configuration; what a container adds stays as long as the release';
  tellChange(work, place, [`${printable(mount.source)} comes along (files: ${open.length})`, why]);
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

function makeVolume(mount: BindMount, path: string, { work, place, part }: Context): void {
  const name = volumeNameFor(path, work);
  const volumes = sectionOf(part.document, 'volumes');
  if (ownValue(volumes, name) === undefined) setValue(volumes, name, newMap());
  const before = printable(mount.source);
  mount.setVolume(name);
  const why =
    work.tree.kindOf(path) === null
      ? 'the project has no such directory'
      : 'it holds data; copy what is there into the volume';
  tellChange(work, place, [`${before} is the named volume ${name} now`, why]);
}

/** Clocks of the host are harmless to read. Other paths stay: the host's policy permits them or not. */
function replaceHostPath(mount: BindMount, { work, place }: Context): void {
  const isClock = /^\/etc\/(localtime|timezone)$/.test(mount.source);
  if (isClock && !mount.isReadOnly) {
    mount.makeReadOnly();
    tellChange(work, place, [`${mount.source} is mounted read-only`, 'so a bundle may have it anywhere']);
  }
  if (neverPermitted.test(mount.source))
    leaveUndecided(work, place, [`${printable(mount.source)} is permitted by no host`, 'take the mount out']);
}

/** The host itself, and where the engine and deployd keep what is theirs. */
const neverPermitted = /^\/+$|^\/var\/lib\/(docker|containers|containerd|deployd)(\/|$)|^\/etc\/deployd(\/|$)/;

function bindMountOf(item: Node, { document }: ServicePart): BindMount | null {
  const [scalar] = bindSourceOf(item, document);
  if (scalar === undefined) return null;
  return isMap(item) ? longMount(item as MapNode, scalar, document) : shortMount(scalar);
}

function shortMount(scalar: Scalar<string>): BindMount {
  const [source = '', target = '', modes, ...more] = scalar.value.split(':');
  const write = (from: string, all: string[]) =>
    setText(scalar, [from, target, ...(all.length > 0 ? [all.join(',')] : []), ...more].join(':'));
  const own = modes?.split(',') ?? [];
  return {
    source,
    target,
    isReadOnly: own.includes('ro'),
    setSource: (from) => write(from, own),
    makeReadOnly: () => write(source, ['ro', ...own.filter((mode) => mode !== 'rw')]),
    setVolume: (name) =>
      write(
        name,
        own.filter((mode) => /^(ro|rw|z|Z|nocopy)$/.test(mode)),
      ),
  };
}

function longMount(map: MapNode, scalar: Scalar<string>, document: ServicePart['document']): BindMount {
  return {
    source: scalar.value,
    target: textAt(valueAt(map, document, 'target'), document) ?? '',
    isReadOnly: /^(true|yes|on|y)$/i.test(textAt(valueAt(map, document, 'read_only'), document) ?? ''),
    setSource: (source) => setText(scalar, source),
    makeReadOnly: () => setValue(map, 'read_only', plainScalar('true')),
    setVolume: (name) => {
      setValue(map, 'type', newScalar('volume'));
      setText(scalar, name);
      removeKey(map, 'bind');
    },
  };
}
