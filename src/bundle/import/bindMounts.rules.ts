import { isMap, type Node, type Scalar } from 'yaml';
import { printable } from '../../core/text.rules.ts';
import { hasReadOnlyMode } from '../compose/mounts.rules.ts';
import { type ImportWork, joinPath, type Place, tellChange, type TreeFile } from './importWork.rules.ts';
import { type ProjectDocument, sectionOf, serviceNodes } from './projectDocument.rules.ts';
import { bindSourceOf } from './readProject.rules.ts';
import {
  entriesAt,
  itemsAt,
  mapAt,
  type MapNode,
  newMap,
  newScalar,
  ownValue,
  plainScalar,
  removeKey,
  setText,
  setValue,
  textAt,
  valueAt,
} from './yamlNodes.rules.ts';

/** A bind mount: its source, and how to write it again. */
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
interface FoundMount {
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

/** Puts a named volume in the place of a path: the same for the same path. `keys` belong to the volume. */
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

/** An item of `volumes` as a bind mount; null for any other mount. */
export function bindMountOf(item: Node, document: ProjectDocument): BindMount | null {
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

/** The name of the volume that takes the place of a directory: the same for the same directory. */
export function volumeNameFor(path: string, { volumes, documents }: Pick<ImportWork, 'volumes' | 'documents'>): string {
  const known = volumes.get(path);
  if (known !== undefined) return known;
  const taken = new Set([
    ...volumes.values(),
    ...documents.flatMap((one) => entriesAt(valueAt(one.root, one, 'volumes'), one).map(([name]) => name)),
  ]);
  const parts = path.split('/').map((part) => part.replace(/[^a-zA-Z0-9_.-]+/g, '-'));
  const plain =
    parts
      .filter((part) => !/^\.*$/.test(part))
      .join('-')
      .replace(/^[^a-zA-Z0-9]+/, '') || 'data';
  const name = plain.length === 1 ? `${plain}-data` : plain;
  let candidate = name;
  for (let count = 2; taken.has(candidate); count++) candidate = `${name}-${count}`;
  volumes.set(path, candidate);
  return candidate;
}

/** The purpose of a mounted directory: `config` is included, `data` is written by a container. */
type DirectoryUse = 'config' | 'data';

/** Most files and bytes of a directory that is configuration. */
const maxFiles = 2_000;
const maxBytes = 2 ** 26;

/** Classifies a directory by its files (null: too many to list) and by its mount point. */
export function directoryUse(files: readonly TreeFile[] | null, target: string, isReadOnly: boolean): DirectoryUse {
  if (files === null || files.length > maxFiles) return 'data';
  const real = files.filter(
    ({ path }) => !/(^|\/)(\.gitkeep|\.gitignore|\.keep|\.placeholder|readme(\.\w+)?)$/i.test(path),
  );
  if (real.length === 0 || real.reduce((sum, { size }) => sum + size, 0) > maxBytes) return 'data';
  if (isReadOnly) return 'config';
  if (databaseTarget.test(target) || real.some(({ path }) => databaseFile.test(path))) return 'data';
  return real.some(({ path }) => configFile.test(path)) ? 'config' : 'data';
}

/** Whether a path looks like the path of a file, so that a container would not make it a directory. */
export function looksLikeFile(path: string): boolean {
  if (/(^|\/)(config|src)$/.test(path)) return false;
  return configFile.test(path) || /(^|\/)[^/.]+\.(db|sqlite3?|log|sock|pid|lock)$/i.test(path);
}

/** Directories in which databases keep their data. */
const databaseTarget =
  /^(\/var\/lib\/(postgresql|mysql|mongodb|redis|rabbitmq|influxdb|clickhouse|cassandra|elasticsearch)|\/data\/(db|configdb)|\/bitnami|\/usr\/share\/elasticsearch\/data)(\/|$)(?!.*(conf|init))/;

const databaseFile = /\.(db|sqlite3?|ibd|frm|myd|rdb|aof|mdb|wal)$|(^|\/)(PG_VERSION|ibdata1|mysql\.sock)$/i;

const configFile =
  /\.(conf|cnf|cfg|ini|toml|ya?ml|json5?|xml|properties|env|sh|bash|sql|lua|m?[jt]s|py|rb|php|pl|html?|css|te?mpl|tpl|j2|hcl|rules?|crt|cert|pem|cer|key|txt|md|ldif|cql|cypher|vcl|acl|repo|service|inc|template|example|sample|dist|default|types|htpasswd|edn|groovy|jar|so|prom|rego|star|tf|vmoptions|policy|users?|passwd|yaml\.tmpl)$|(^|\/)(\.?htpasswd|Caddyfile|Corefile|nginx\.conf|config|Dockerfile|crontab|hosts|passwd|Makefile|\.?\w+rc)$/i;
