import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import { printable } from '../../core/text.rules.ts';
import { maxCharacters, maxNodes } from '../compose/composeNode.rules.ts';
import { holdsSecret } from './secretSigns.rules.ts';
import {
  type Aliases,
  effectivePair,
  entriesAt,
  layersOf,
  mapAt,
  type MapNode,
  newMap,
  newScalar,
  plainScalar,
  setValue,
  textAt,
  valueAt,
  writtenOut,
} from './yamlNodes.rules.ts';

/** One document of a compose file, which an import changes where it must; comments and anchors stay. */
export interface ProjectDocument extends Aliases {
  /** Path of its file in the project. */
  path: string;
  document: Document;
  root: Node;
}

/**
 * The documents of a compose file, read as leniently as compose reads it: a byte order mark and tags without a meaning
 * are dropped. `problems` has a line for each reason why it is not a compose file.
 */
export function parseProjectFile(
  path: string,
  text: string,
): { documents: ProjectDocument[] } | { problems: string[] } {
  const lines = new LineCounter();
  const source = text.replace(/^\ufeff/, '');
  const problem = (offset: number, message: string) =>
    `${printable(message)} (${printable(path)}:${Math.max(1, lines.linePos(offset).line)})`;
  if (source.length > maxCharacters) return { problems: [problem(0, `more than ${maxCharacters} characters`)] };
  const parsed = parseLeniently(source, lines);
  if (parsed === null) return { problems: [problem(0, 'cannot be read as YAML')] };
  const errors = parsed.flatMap((document) =>
    document.errors.map(({ pos, message }) => problem(pos[0], withoutQuotes(message))),
  );
  if (errors.length > 0) return { problems: errors.slice(0, maxProblems) };
  const filled = parsed.filter(({ contents }) => contents !== null && !isEmpty(contents));
  const read = filled.map((document) => inspect(path, document));
  const problems = read.flatMap(({ faults }) => faults.map(({ offset, message }) => problem(offset, message)));
  if (problems.length > 0) return { problems: problems.slice(0, maxProblems) };
  return { documents: read.map(({ found }) => found) };
}

/** The text of a document. Each of its aliases must stand for an anchor before it. */
export function renderProjectDocument({ document }: ProjectDocument): string {
  removeSecretComments(document);
  return document.toString({ lineWidth: 0, singleQuote: true, directives: false, flowCollectionPadding: false });
}

/** Comments stay, but for their lines that hold a secret, such as a setting that is commented out. */
function removeSecretComments(document: Document): void {
  const clean = (node: Partial<Record<'comment' | 'commentBefore', string | null>>) => {
    for (const key of ['comment', 'commentBefore'] as const) {
      const lines = node[key]?.split('\n') ?? [];
      const kept = lines.filter((line) => !holdsSecret('comment.yaml', line));
      if (kept.length < lines.length) node[key] = kept.length === 0 ? null : kept.join('\n');
    }
  };
  clean(document);
  visit(document, { Node: (_, node) => clean(node) });
}

const maxProblems = 20;

const maxDepth = 40;

function parseLeniently(source: string, lineCounter: LineCounter): Document[] | null {
  try {
    const options = { schema: 'failsafe', uniqueKeys: false, prettyErrors: false, lineCounter } as const;
    return [...parseAllDocuments(source, options)] as Document[];
  } catch {
    return null;
  }
}

/** The parser quotes what it found, which may be a secret. */
function withoutQuotes(message: string): string {
  return message.replace(/"(?:[^"\\]|\\.)*"?/g, '…');
}

function isEmpty(contents: unknown): boolean {
  return isScalar(contents) && contents.value === '' && contents.type === 'PLAIN';
}

/** An empty value without a tag and an anchor, which a `null` in its place would lose. */
function isUnmarkedEmpty(node: Node): boolean {
  return isEmpty(node) && node.tag === undefined && (node as Scalar).anchor === undefined;
}

interface Inspection {
  targets: Map<Alias, Node>;
  anchors: Map<string, { node: Node; size: number }>;
  faults: { offset: number; message: string }[];
  /** Values so far, with values of aliases counted at each use. */
  size: number;
}

function inspect(path: string, document: Document): { found: ProjectDocument; faults: Inspection['faults'] } {
  const state: Inspection = { targets: new Map(), anchors: new Map(), faults: [], size: 0 };
  const root = document.contents as Node;
  if (isMap(root)) inspectNode(root, 0, state);
  else addFault(state, root, 'a compose file must be a mapping');
  return { found: { path, document, root, targets: state.targets }, faults: state.faults };
}

function inspectNode(node: unknown, depth: number, state: Inspection): void {
  const before = state.size++;
  if (depth > maxDepth) {
    addFault(state, node, `nested deeper than ${maxDepth} levels`);
    return;
  }
  if (isAlias(node)) inspectAlias(node, state);
  if (state.size > maxNodes) {
    addFault(state, node, `more than ${maxNodes} values, copies counted in full`);
    return;
  }
  if (isSeq(node)) for (const item of node.items) inspectNode(item, depth + 1, state);
  if (isMap(node)) inspectMap(node as YAMLMap<Node, Node | null>, depth, state);
  dropTag(node);
  const { anchor } = (node ?? {}) as { anchor?: string };
  if (anchor !== undefined && !isAlias(node))
    state.anchors.set(anchor, { node: node as Node, size: state.size - before });
}

function inspectMap(map: YAMLMap<Node, Node | null>, depth: number, state: Inspection): void {
  const keys = new Set<string>();
  for (const pair of map.items) {
    const { key } = pair;
    const name = isScalar(key) ? keyText(key) : null;
    if (typeof name !== 'string') addFault(state, key, 'a key that is not text');
    else if (keys.has(name)) addFault(state, key, `the key ${name} a second time`);
    else keys.add(name);
    if (pair.value === null || isUnmarkedEmpty(pair.value)) pair.value = plainScalar(map.flow === true ? 'null' : '');
    inspectNode(pair.value, depth + 1, state);
  }
}

/** A key; the tag of a merge (`!!merge <<`) is dropped. */
function keyText(key: Scalar): unknown {
  if (key.tag === 'tag:yaml.org,2002:merge') {
    key.value = '<<';
    delete key.tag;
  }
  return key.value;
}

/** An anchor is known only after its value, so no alias refers to a node that contains it. */
function inspectAlias(alias: Alias, state: Inspection): void {
  const target = state.anchors.get(alias.source);
  if (target === undefined) {
    addFault(state, alias, `the alias *${alias.source} points nowhere or into itself`);
    return;
  }
  state.targets.set(alias, target.node);
  state.size += target.size;
}

function addFault(state: Inspection, node: unknown, message: string): void {
  const { range } = (node ?? {}) as { range?: readonly number[] };
  if (state.faults.length <= maxProblems) state.faults.push({ offset: range?.[0] ?? 0, message });
}

/** Compose reads text from a scalar with the tag `!!str`, and ignores all other tags except those for merging. */
function dropTag(node: unknown): void {
  if (!isScalar(node) && !isMap(node) && !isSeq(node)) return;
  if (node.tag === undefined || node.tag === '!reset' || node.tag === '!override') return;
  const isText = node.tag === 'tag:yaml.org,2002:str';
  delete node.tag;
  if (!isScalar(node)) return;
  if (typeof node.value !== 'string') node.value = node.source ?? '';
  if (isText && node.type === 'PLAIN') node.type = 'QUOTE_SINGLE';
}

/** Gives each anchor its own name, and writes out aliases whose anchor is gone. */
export function repairAnchors(project: ProjectDocument): void {
  const names = new Map<Node, string>();
  const taken = new Set<string>();
  visit(project.document, (_, node) => {
    if (!isNode(node)) return undefined;
    if (!isAlias(node)) {
      const { anchor } = node as { anchor?: string };
      if (anchor !== undefined) (node as { anchor?: string }).anchor = nameAnchor(node, anchor, { names, taken });
      return undefined;
    }
    const target = project.targets.get(node);
    const name = target === undefined ? undefined : names.get(target);
    if (name === undefined) return writtenOut(node, project) ?? visit.REMOVE;
    node.source = name;
    return undefined;
  });
}

interface Names {
  names: Map<Node, string>;
  taken: Set<string>;
}

function nameAnchor(node: Node, anchor: string, { names, taken }: Names): string {
  const plain = anchor.replace(/[^\w-]/g, '-');
  let name = plain;
  for (let count = 2; taken.has(name); count++) name = `${plain}-${count}`;
  taken.add(name);
  names.set(node, name);
  return name;
}

/** A service as one document has it. */
export interface ProjectService {
  name: string;
  document: ProjectDocument;
  /** Its own mapping, then those that it merges. Services may share them. */
  layers: MapNode[];
}

/** The services of a document. */
export function servicesOf(document: ProjectDocument): ProjectService[] {
  return entriesAt(valueAt(document.root, document, 'services'), document).flatMap(([name, value]) => {
    const layers = layersOf(mapAt(value, document), document);
    return layers.length === 0 ? [] : [{ name, document, layers }];
  });
}

/** A mapping that holds keys of services, and the services that have them. */
export interface ServicePart {
  map: MapNode;
  document: ProjectDocument;
  /** `service web`, or `services a, b`. */
  owner: string;
  names: string[];
}

/** Each mapping that is a service or is merged into one, once. */
export function servicePartsOf(documents: readonly ProjectDocument[]): ServicePart[] {
  return documents.flatMap((document) => {
    const names = new Map<MapNode, string[]>();
    for (const { name, layers } of servicesOf(document))
      for (const map of new Set(layers)) names.set(map, [...(names.get(map) ?? []), name]);
    return [...names].map(([map, all]) => ({ map, document, names: all, owner: ownerOf(all) }));
  });
}

/** A node of services, with how reports name all of them. */
export interface ServiceNode<N extends Node> {
  node: N;
  document: ProjectDocument;
  owner: string;
}

/** The nodes that `nodesOf` finds in services, and in merged parts without effect, each once. */
export function serviceNodes<N extends Node>(
  documents: readonly ProjectDocument[],
  nodesOf: (map: MapNode, document: ProjectDocument) => readonly N[],
): ServiceNode<N>[] {
  const found = new Map<N, { document: ProjectDocument; names: Set<string> }>();
  for (const { name, layers, document } of documents.flatMap(servicesOf))
    for (const node of layers.slice(0, 1).flatMap((own) => nodesOf(own, document))) {
      const { names } = found.get(node) ?? { names: new Set() };
      found.set(node, { document, names: names.add(name) });
    }
  for (const { map, document, names } of servicePartsOf(documents))
    for (const node of nodesOf(map, document))
      if (!found.has(node)) found.set(node, { document, names: new Set(names) });
  return [...found].map(([node, { document, names }]) => ({ node, document, owner: ownerOf([...names]) }));
}

/** How reports name services. */
export function ownerOf(names: readonly string[]): string {
  return names.length === 1 ? `service ${names[0] ?? ''}` : `services ${names.join(', ')}`;
}

/** The names of all services. */
export function serviceNamesOf(documents: readonly ProjectDocument[]): string[] {
  return [...new Set(documents.flatMap(servicesOf).map(({ name }) => name))];
}

/** A value with its document. */
export interface DocumentValue {
  value: Node | null;
  document: ProjectDocument;
}

/** The value of a key of a service that takes effect: of the last document that has it, or of the service that it extends. */
export function effectiveOf(documents: readonly ProjectDocument[], name: string, key: string): DocumentValue | null {
  return inheritedValue(documents, { name, key, depth: 0 });
}

function inheritedValue(
  documents: readonly ProjectDocument[],
  { name, key, depth }: { name: string; key: string; depth: number },
): DocumentValue | null {
  const own = documents.flatMap(servicesOf).filter((service) => service.name === name);
  for (const { layers, document } of own.toReversed()) {
    const found = effectivePair(layers, key);
    if (found !== null) return { value: found.value, document };
    const extended = effectivePair(layers, 'extends')?.value;
    const base = textAt(valueAt(extended, document, 'service') ?? extended, document);
    const inherited =
      base === null || depth > maxExtendsDepth
        ? null
        : inheritedValue([document], { name: base, key, depth: depth + 1 });
    if (inherited !== null) return inherited;
  }
  return null;
}

const maxExtendsDepth = 16;

/** The mapping of a service that is its alone, so that a change concerns no other. */
export function ownMapOf({ name, document, layers }: ProjectService): MapNode {
  const services = mapAt(valueAt(document.root, document, 'services'), document);
  const pair = services?.items.find(({ key }) => key.value === name);
  if (pair === undefined || isMap(pair.value)) return (pair?.value as MapNode | undefined) ?? layers[0] ?? newMap();
  const own = newMap();
  if (pair.value !== null) setValue(own, '<<', pair.value);
  pair.value = own;
  return own;
}

/** The value of a scalar at a top-level section: `volumes`, `networks`; made where it is missing. */
export function sectionOf(document: ProjectDocument, section: string): MapNode {
  const root = document.root as MapNode;
  const found = mapAt(valueAt(root, document, section), document);
  if (found !== null) return found;
  const made = newMap();
  root.set(newScalar(section), made);
  return made;
}
