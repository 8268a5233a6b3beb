import { isMap } from 'yaml';
import type { Node, Scalar } from 'yaml';
import { printable } from '../../../protocol/printable.ts';
import { hasReadOnlyMode } from '../compose/document/mountMode.ts';
import { tellChange, type ImportWork, type Place } from './importWork.ts';
import type { ProjectDocument } from './projectDocument.ts';
import { joinPath } from './projectTree.ts';
import { bindSourceOf } from './rebase.ts';
import { sectionOf, serviceNodes } from './services.ts';
import { volumeNameFor } from './volumeNames.ts';
import {
  itemsAt,
  mapAt,
  newMap,
  newScalar,
  ownValue,
  plainScalar,
  removeKey,
  setText,
  setValue,
  textAt,
  valueAt,
  type MapNode,
} from './yamlNodes.ts';

/** A bind mount: where it comes from, and how to write it anew. */
export interface BindMount {
  source: string;
  target: string;
  isReadOnly: boolean;
  /** The project says `rw`, or `read_only: false`. */
  isWrittenAsWritable: boolean;
  /** `shared`, `rslave` and the like; null without one. */
  propagation: string | null;
  /** Takes another path of the bundle or the host. */
  setSource: (source: string) => void;
  makeReadOnly: () => void;
  dropPropagation: () => void;
  /** Becomes a mount of a named volume. */
  setVolume: (name: string) => void;
}

/** A bind mount with its document and how reports name its services. */
export interface FoundMount {
  mount: BindMount;
  document: ProjectDocument;
  owner: string;
}

/** Where a mount is replaced. */
export interface MountContext {
  work: ImportWork;
  place: Place;
  document: ProjectDocument;
}

/** Each bind mount, once. */
export function bindMountsOf({ documents }: Pick<ImportWork, 'documents'>): FoundMount[] {
  const items = serviceNodes(documents, (map, document) => itemsAt(valueAt(map, document, 'volumes'), document));
  return items.flatMap(({ node, document, owner }) => {
    const mount = bindMountOf(node, document);
    return mount === null ? [] : [{ mount, document, owner }];
  });
}

/** Where the services of an owner mount something, the path of a bind mount too. */
export function mountTargetsOf({ documents }: Pick<ImportWork, 'documents'>): { owner: string; target: string }[] {
  const items = serviceNodes(documents, (map, document) =>
    ['volumes', 'tmpfs'].flatMap((key) => itemsAt(valueAt(map, document, key), document)),
  );
  return items.flatMap(({ node, document, owner }) => {
    const [source, target = source] = textAt(node, document)?.split(':') ?? [];
    const written = textAt(valueAt(node, document, 'target'), document) ?? target;
    return written === undefined ? [] : [{ owner, target: written }];
  });
}

/** The path in the project that a relative source names. */
export function projectPathOf({ source }: BindMount): string {
  return joinPath('.', source);
}

/** Puts a named volume in the place of a path: the same for the same path. `keys` are those of the volume. */
export function becomeVolume(
  mount: BindMount,
  { path, why, keys = newMap() }: { path: string; why: string; keys?: MapNode },
  { work, place, document }: MountContext,
): void {
  const name = volumeNameFor(path, work);
  const volumes = sectionOf(document, 'volumes');
  if (ownValue(volumes, name) === undefined) setValue(volumes, name, keys);
  const before = printable(mount.source);
  mount.setVolume(name);
  tellChange(work, place, [`${before} is the named volume ${name} now`, why]);
}

function bindMountOf(item: Node, document: ProjectDocument): BindMount | null {
  const [scalar] = bindSourceOf(item, document);
  if (scalar === undefined) return null;
  return isMap(item) ? longMount(item as MapNode, scalar, document) : shortMount(scalar);
}

const propagationMode = /^r?(shared|slave|private)$/;

function shortMount(scalar: Scalar<string>): BindMount {
  const [source = '', target = '', modes, ...more] = scalar.value.split(':');
  const state = { source, modes: modes?.split(',') ?? [] };
  const write = (changed: Partial<typeof state>) => {
    Object.assign(state, changed);
    const written = state.modes.length > 0 ? [state.modes.join(',')] : [];
    setText(scalar, [state.source, target, ...written, ...more].join(':'));
  };
  const keepModes = (pattern: RegExp) => state.modes.filter((mode) => pattern.test(mode));
  return {
    ...{ source, target, isReadOnly: hasReadOnlyMode(modes), isWrittenAsWritable: state.modes.includes('rw') },
    propagation: state.modes.find((mode) => propagationMode.test(mode)) ?? null,
    setSource: (from) => write({ source: from }),
    makeReadOnly: () => write({ modes: ['ro', ...state.modes.filter((mode) => mode !== 'rw')] }),
    dropPropagation: () => write({ modes: state.modes.filter((mode) => !propagationMode.test(mode)) }),
    setVolume: (name) => write({ source: name, modes: keepModes(/^(ro|rw|z|Z|nocopy)$/) }),
  };
}

function longMount(map: MapNode, scalar: Scalar<string>, document: ProjectDocument): BindMount {
  const readOnly = textAt(valueAt(map, document, 'read_only'), document) ?? '';
  return {
    source: scalar.value,
    target: textAt(valueAt(map, document, 'target'), document) ?? '',
    isReadOnly: /^(true|yes|on|y)$/i.test(readOnly),
    isWrittenAsWritable: /^(false|no|off|n)$/i.test(readOnly),
    propagation: textAt(valueAt(map, document, 'bind', 'propagation'), document),
    setSource: (source) => setText(scalar, source),
    makeReadOnly: () => setValue(map, 'read_only', plainScalar('true')),
    dropPropagation: () => void removeKey(mapAt(valueAt(map, document, 'bind'), document), 'propagation'),
    setVolume: (name) => {
      setValue(map, 'type', newScalar('volume'));
      setText(scalar, name);
      removeKey(map, 'bind');
    },
  };
}
