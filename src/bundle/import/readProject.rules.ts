import { isMap, isScalar, isSeq, type Node, Pair, type Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { printable } from '../../core/text.rules.ts';
import type { TextVariable } from '../compose/variables.rules.ts';
import {
  directoryOf,
  type ImportWork,
  joinPath,
  leaveUndecided,
  normalizeRelative,
  type ProjectTree,
  tellChange,
} from './importWork.rules.ts';
import {
  ownMapOf,
  parseProjectFile,
  type ProjectDocument,
  servicePartsOf,
  servicesOf,
} from './projectDocument.rules.ts';
import {
  envValues,
  readEnvFile,
  resolveVariable,
  rewriteVariables,
  valueScalars,
  writeOutVariables,
} from './variables.rules.ts';
import {
  effectivePair,
  entriesAt,
  itemsAt,
  type MapNode,
  newMap,
  newScalar,
  ownValue,
  plainScalar,
  removeKey,
  scalarAt,
  setText,
  setValue,
  textAt,
  valueAt,
  writtenOut,
} from './yamlNodes.rules.ts';

/** Includes in includes, and bases of bases. */
const maxDepth = 10;

/**
 * Reads compose files of the project and the files that they include and extend; `problems` lists files that are not
 * compose files.
 */
export function readProject(paths: readonly string[], work: ImportWork): string[] {
  const seen = new Set<string>();
  const base = directoryOf(paths[0] ?? '.');
  const problems = paths.flatMap((path) => addFile(path, base, { work, seen, depth: 0, env: new Map() }));
  if (problems.length === 0) resolveExtends(work);
  return problems;
}

interface Reading {
  work: ImportWork;
  /** Paths of the files that are added, or about to be. */
  seen: Set<string>;
  depth: number;
  /** Values of the env files of includes; the project's own values take precedence. */
  env: ReadonlyMap<string, string>;
}

/** Adds the documents of a file once, behind those that it includes. */
function addFile(path: string, base: string, reading: Reading): string[] {
  const { work, seen } = reading;
  if (seen.has(path)) return [];
  seen.add(path);
  const read = openFile(path, base, { work, env: reading.env });
  if ('problems' in read) return read.problems;
  const problems = read.documents.flatMap((document) => readIncludes(document, base, reading));
  work.documents.push(...read.documents);
  return problems;
}

function openFile(
  path: string,
  base: string,
  { work, env }: Pick<Reading, 'work' | 'env'>,
): ReturnType<typeof parseProjectFile> {
  const text = work.tree.textOf(path);
  if (text === null) return { problems: [`${printable(path)} cannot be read`] };
  const read = parseProjectFile(path, text);
  if ('problems' in read) return read;
  writeOutIncluded(work, read.documents, env);
  writeOutVariables(work, read.documents);
  for (const document of read.documents) rebasePaths(document, base);
  return read;
}

/** Values of the env files that an include names, or of the .env in its directory. */
function includedValues(include: Node, document: ProjectDocument, [base, own]: [string, string], reading: Reading) {
  const { tree, register } = reading.work;
  const named = itemsAt(valueAt(include, document, 'env_file'), document).flatMap((one) => textAt(one, document) ?? []);
  const files = named.length > 0 ? named.map((file) => joinPath(base, file)) : [joinPath(own, '.env')];
  const valueOf = (name: string) => register.valueOf(name) ?? reading.env.get(name) ?? null;
  const values = files.flatMap((file) => [...envValues(readEnvFile(tree.textOf(file) ?? ''), valueOf)]);
  return new Map([...values.filter(([name]) => register.valueOf(name) === null), ...reading.env]);
}

/** Writes out the variables whose values only the env file of an include has; secrets become variables of the bundle. */
function writeOutIncluded(
  work: ImportWork,
  documents: readonly ProjectDocument[],
  env: ReadonlyMap<string, string>,
): void {
  if (env.size === 0) return;
  const { register } = work;
  const write = (variable: TextVariable): string => {
    const { name, operator, inner, source } = variable;
    const value = env.get(name) ?? null;
    if (value === null)
      return inner === '' ? source : `\${${name}${operator}${rewriteVariables(inner, write) ?? inner}}`;
    const owner = { owner: 'project', key: 'include' };
    const isSecret = register.isSecret(name, value);
    const resolved = resolveVariable(variable, (one) => env.get(one) ?? register.valueOf(one)) ?? '';
    const text = isSecret ? `\${${register.variableFor(name, 'INCLUDE', value)}}` : resolved.replaceAll('$', '$$$$');
    tellChange(work, owner, [
      `${printable(source)} is ${printable(text)} now`,
      'only an included env file has its value',
    ]);
    return text;
  };
  for (const scalar of documents.flatMap(valueScalars)) {
    const text = rewriteVariables(scalar.value, write);
    if (text !== null && text !== scalar.value) setText(scalar, text);
  }
}

function readIncludes(document: ProjectDocument, base: string, reading: Reading): string[] {
  const { work, seen, depth } = reading;
  const place = { owner: `file ${document.path}`, key: 'include' };
  const includes = itemsAt(valueAt(document.root, document, 'include'), document);
  const isKept = includes.map((include) => {
    const paths = itemsAt(valueAt(include, document, 'path') ?? include, document).map((one) => textAt(one, document));
    const files = paths.map((path) => (path === null || /^[/~$]|:\/\/|^git@/.test(path) ? null : joinPath(base, path)));
    if (depth >= maxDepth || files.includes(null) || files.some((file) => work.tree.kindOf(file ?? '') !== 'file')) {
      leaveUndecided(work, place, [
        `${printable(paths.join(', '))} is not a file of the project`,
        'fetch it, and name it by -f',
      ]);
      return { problems: [], kept: true };
    }
    const directory = textAt(valueAt(include, document, 'project_directory'), document);
    const ownBase = directory === null ? directoryOf(files[0] ?? '.') : joinPath(base, directory);
    const env = includedValues(include, document, [base, ownBase], reading);
    const problems = files.flatMap((file) => addFile(file ?? '', ownBase, { work, seen, depth: depth + 1, env }));
    for (const file of files) tellChange(work, place, [printable(file ?? ''), 'the manifest names all compose files']);
    return { problems, kept: false };
  });
  if (isKept.every(({ kept }) => !kept)) removeKey(document.root as MapNode, 'include');
  return isKept.flatMap(({ problems }) => problems);
}

/** Merges each service with the base of another file that it extends. */
function resolveExtends(work: ImportWork): void {
  const opened = new Map<string, ProjectDocument[]>();
  for (const service of work.documents.flatMap(servicesOf)) {
    const { name, document, layers } = service;
    const extended = effectivePair(layers, 'extends')?.value;
    const file = textAt(valueAt(extended, document, 'file'), document);
    if (file === null) continue;
    const base = baseOf(joinPath('.', file), textAt(valueAt(extended, document, 'service'), document), {
      ...{ work, opened, depth: 0 },
    });
    const place = { owner: `service ${name}`, key: 'extends' };
    const written = writtenOut(layers[0], document);
    if (base === null || !isMap(written)) {
      leaveUndecided(work, place, [
        `${printable(file)} has no such service, or cannot be read`,
        'write the service out',
      ]);
      continue;
    }
    removeKey(written as MapNode, 'extends');
    ownMapOf(service).items = mergeService(base, written as MapNode).items;
    tellChange(work, place, [
      `the service of ${printable(file)} is written out`,
      'each file of a bundle is validated separately',
    ]);
  }
}

interface Opening {
  work: ImportWork;
  opened: Map<string, ProjectDocument[]>;
  depth: number;
}

/** A service of another file, with its own bases; null if there is none. */
function baseOf(file: string, name: string | null, opening: Opening): MapNode | null {
  const { work, opened, depth } = opening;
  if (name === null || depth > maxDepth) return null;
  const documents = opened.get(file) ?? documentsOf(openFile(file, directoryOf(file), { work, env: new Map() }));
  opened.set(file, documents);
  const found = documents.flatMap(servicesOf).find((service) => service.name === name);
  const own = found === undefined ? null : writtenOut(found.layers[0], found.document);
  if (!isMap(own)) return null;
  const extended = ownValue(own as MapNode, 'extends');
  if (extended === undefined || found === undefined) return own as MapNode;
  const { document } = found;
  const nextFile = textAt(valueAt(extended, document, 'file'), document);
  const next = textAt(valueAt(extended, document, 'service') ?? extended, document);
  const base = baseOf(nextFile === null ? file : joinPath('.', nextFile), next, { ...opening, depth: depth + 1 });
  removeKey(own as MapNode, 'extends');
  return base === null ? null : mergeService(base, own as MapNode);
}

function documentsOf(read: ReturnType<typeof parseProjectFile>): ProjectDocument[] {
  return 'problems' in read ? [] : read.documents;
}

/**
 * A service over the base that it extends, merged as compose does: mappings by key, lists joined, `NAME=value` by name,
 * mounts by target, commands replaced. Both are written out, without aliases.
 */
function mergeService(base: MapNode, service: MapNode): MapNode {
  return mergeMaps(base, service, []);
}

const replacedLists = /^(command|entrypoint|healthcheck\.test)$/;
const namedLists =
  /^(environment|labels|annotations|sysctls|extra_hosts|build\.(args|labels)|deploy\.labels|driver_opts|logging\.options)$/;
const listsOfNames = /^(depends_on|networks)$/;

function mergeMaps(base: MapNode, over: MapNode, path: string[]): MapNode {
  const merged = newMap();
  merged.items = [...base.items];
  for (const { key, value } of over.items) {
    const isReplaced = value?.tag === '!reset' || value?.tag === '!override';
    const before = isReplaced ? undefined : ownValue(base, key.value);
    const found = before === undefined ? value : mergeValues(before, value, [...path, key.value]);
    const at = merged.items.findIndex((pair) => pair.key.value === key.value);
    if (at < 0) merged.items.push(new Pair(key, found));
    else merged.items[at] = new Pair(key, found);
  }
  return merged;
}

function mergeValues(before: Node | null, value: Node | null, path: string[]): Node | null {
  const key = path.join('.');
  const [one, other] = [collectionOf(before, key), collectionOf(value, key)];
  if (one === null || other === null || replacedLists.test(key)) return value;
  if (isMap(one) && isMap(other)) return mergeMaps(one as MapNode, other as MapNode, path);
  return isSeq(one) && isSeq(other) ? mergeLists(one.items as Node[], other.items as Node[], key) : value;
}

/** The merged values: lists of names and of `NAME=value` as mappings, one text of `env_file` and the like as a list. */
function collectionOf(node: Node | null, key: string): YAMLMap | YAMLSeq | null {
  if (isMap(node)) return node;
  if (isSeq(node))
    return namedLists.test(key) || listsOfNames.test(key) ? mapOfItems(node as YAMLSeq<Node>, key) : node;
  if (node === null || !/^(env_file|label_file|dns|dns_search|tmpfs)$/.test(key)) return null;
  const list = new YAMLSeq<Node>();
  list.items = [node];
  return list;
}

function mapOfItems({ items }: YAMLSeq<Node>, key: string): MapNode {
  const map = newMap();
  for (const item of items) {
    const text = isScalar(item) ? String(item.value) : '';
    const at = key === 'extra_hosts' ? text.search(/[=:]/) : text.indexOf('=');
    const [name, value] = at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
    if (listsOfNames.test(key)) setValue(map, name, key === 'depends_on' ? startedCondition() : newMap());
    else if (value === null) setValue(map, name, plainScalar(''));
    else setValue(map, name, newScalar(value));
  }
  return map;
}

/** The short form of `depends_on`. */
function startedCondition(): MapNode {
  const map = newMap();
  setValue(map, 'condition', newScalar('service_started'));
  return map;
}

function mergeLists(base: Node[], over: Node[], key: string): YAMLSeq<Node> {
  const identityOf = key === 'volumes' || key === 'devices' ? targetOf : textOf;
  const replaced = new Set(over.map(identityOf));
  const list = new YAMLSeq<Node>();
  list.items = [...base.filter((item) => !replaced.has(identityOf(item))), ...over];
  return list;
}

/** Where in the container a mount or device appears. */
function targetOf(item: Node): string {
  if (isMap(item)) return textOf((ownValue(item as MapNode, 'target') as Scalar | undefined) ?? item);
  const [source, target = source] = textOf(item).split(':');
  return target?.replace(/\/+$/, '') ?? '';
}

function textOf(node: Node): string {
  return isScalar(node) ? String(node.value) : JSON.stringify(node.toJSON());
}

/** Makes the paths of a file in another directory relative to the project's. */
function rebasePaths(document: ProjectDocument, base: string): void {
  if (base === '.') return;
  for (const scalar of pathScalars(document)) {
    const [path = ''] = scalar.value.split(':', 1);
    const isRelative = !/^[/~$]|^\w+:\/\//.test(scalar.value);
    if (isRelative) setText(scalar, `${dotted(joinPath(base, path))}${scalar.value.slice(path.length)}`);
  }
}

/** Compose takes a mount's source for a path when it begins with a dot. */
function dotted(path: string): string {
  return path === '.' || path.startsWith('..') ? path : `./${path}`;
}

function pathScalars(document: ProjectDocument): Scalar<string>[] {
  const { root } = document;
  const nodes = servicePartsOf([document]).flatMap(({ map }) => [
    ...itemsAt(valueAt(map, document, 'volumes'), document).flatMap((mount) => bindSourceOf(mount, document)),
    ...['env_file', 'label_file'].flatMap((key) =>
      itemsAt(valueAt(map, document, key), document).map((item) => valueAt(item, document, 'path') ?? item),
    ),
    valueAt(map, document, 'extends', 'file'),
  ]);
  const contents = ['configs', 'secrets'].flatMap((section) =>
    entriesAt(valueAt(root, document, section), document).map(([, part]) => valueAt(part, document, 'file')),
  );
  return [...new Set([...nodes, ...contents].flatMap((node) => scalarAt(node, document) ?? []))];
}

/** The scalar that holds the source of a bind mount. */
export function bindSourceOf(mount: unknown, document: ProjectDocument): Scalar<string>[] {
  const short = scalarAt(mount, document);
  if (short !== null) return /^[./~]/.test(short.value) && short.value.includes(':') ? [short] : [];
  if (textAt(valueAt(mount, document, 'type'), document) !== 'bind') return [];
  const source = scalarAt(valueAt(mount, document, 'source'), document);
  return source === null ? [] : [source];
}

/** The compose files of a project, and what its env file says about compose itself. */
interface FoundProject {
  /** In the order of merging; empty if there are none. */
  files: string[];
  /** The project's own name; null without one. */
  name: string | null;
  /** Profiles that are chosen by `COMPOSE_PROFILES`. */
  profiles: string[];
}

/** Finds compose files as compose does; `chosen` takes their place. */
export function findProject(tree: ProjectTree, chosen: readonly string[], envFile: string): FoundProject {
  const values = envValues(readEnvFile(tree.textOf(envFile) ?? ''), () => null);
  const named =
    chosen.length > 0 ? chosen : splitList(values.get('COMPOSE_FILE'), values.get('COMPOSE_PATH_SEPARATOR'));
  const files = named.length > 0 ? named.map(normalizeRelative) : defaultFiles(tree);
  const names = files.flatMap((file) => ownNameOf(tree, file) ?? []);
  return {
    files,
    name: values.get('COMPOSE_PROJECT_NAME') || (names.at(-1) ?? null),
    profiles: splitList(values.get('COMPOSE_PROFILES'), ','),
  };
}

function splitList(text: string | undefined, separator: string | undefined): string[] {
  return (text ?? '').split(separator || ':').flatMap((part) => part.trim() || []);
}

const defaultNames = ['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml'];
const overrideNames = defaultNames.map((name) => name.replace(/\./, '.override.'));

function defaultFiles(tree: ProjectTree): string[] {
  const isFile = (path: string) => tree.kindOf(path) === 'file';
  const file = defaultNames.find(isFile);
  if (file === undefined) return [];
  const override = overrideNames.find(isFile);
  return override === undefined ? [file] : [file, override];
}

function ownNameOf(tree: ProjectTree, file: string): string | null {
  const read = parseProjectFile(file, tree.textOf(file) ?? '');
  const [document] = 'problems' in read ? [] : read.documents;
  const name = document === undefined ? null : textAt(valueAt(document.root, document, 'name'), document);
  return name === null || name.includes('$') ? null : name;
}
