import { isMap, type Node } from 'yaml';
import type { ProjectDocument } from './projectDocument.rules.ts';
import {
  effectivePair,
  entriesAt,
  layersOf,
  mapAt,
  type MapNode,
  newMap,
  newScalar,
  setValue,
  textAt,
  valueAt,
} from './yamlNodes.rules.ts';

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
