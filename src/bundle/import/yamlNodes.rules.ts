import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';

/** The nodes that the aliases of a document refer to. */
export interface Aliases {
  readonly targets: ReadonlyMap<Alias, Node>;
}

/** A mapping of a document; its keys are texts. */
export type MapNode = YAMLMap<Scalar<string>, Node | null>;
export type ListNode = YAMLSeq<Node>;

/** The node behind aliases. */
export function resolve(node: unknown, { targets }: Aliases): Node | null {
  for (let found = node, steps = 0; steps < maxAliasSteps; steps++) {
    if (!isAlias(found)) return (found ?? null) as Node | null;
    found = targets.get(found);
  }
  return null;
}

/** A mapping, behind aliases; null for anything else. */
export function mapAt(node: unknown, document: Aliases): MapNode | null {
  const found = resolve(node, document);
  return isMap(found) ? (found as MapNode) : null;
}

/** The items of a list behind aliases; of any other value, that value; none of nothing. */
export function itemsAt(node: unknown, document: Aliases): Node[] {
  const found = resolve(node, document);
  if (isSeq(found)) return (found as ListNode).items;
  return found === null ? [] : [found];
}

/** The entries of a mapping. */
export function entriesAt(
  node: unknown,
  document: Aliases,
): [string, Node | null, Pair<Scalar<string>, Node | null>][] {
  return (mapAt(node, document)?.items ?? []).map((pair) => [pair.key.value, pair.value, pair]);
}

/** The value of a key in the mapping itself. */
export function ownValue(map: MapNode | null, key: string): Node | null | undefined {
  return map?.items.find((pair) => pair.key.value === key)?.value;
}

/** A scalar, behind aliases, that has a text. */
export function scalarAt(node: unknown, document: Aliases): Scalar<string> | null {
  const found = resolve(node, document);
  return isScalar(found) && typeof found.value === 'string' && !isNull(found) ? (found as Scalar<string>) : null;
}

/** Whether a value is null behind aliases, and no tag says what it means. */
export function isNullAt(node: unknown, document: Aliases): boolean {
  const found = resolve(node, document);
  return found === null || (isScalar(found) && found.tag === undefined && isNull(found));
}

/** Whether a value is there that compose does not read as "no". */
export function isYesAt(node: Node | null, document: Aliases): boolean {
  return node !== null && !/^(false|no|off|n)$/i.test(textAt(node, document) ?? 'true');
}

/** The text of a scalar. */
export function textAt(node: unknown, document: Aliases): string | null {
  return scalarAt(node, document)?.value ?? null;
}

/** The value under a chain of keys, merges included. */
export function valueAt(node: unknown, document: Aliases, ...keys: string[]): Node | null {
  return keys.reduce<Node | null>(
    (found, key) => effectivePair(layersOf(mapAt(found, document), document), key)?.value ?? null,
    node as Node | null,
  );
}

/** A mapping and those that it merges (`<<`), in the order of their precedence. */
export function layersOf(map: MapNode | null, document: Aliases, depth = 0): MapNode[] {
  if (map === null || depth > maxAliasSteps) return [];
  const merged = ownValue(map, '<<');
  const sources = merged === undefined ? [] : itemsAt(merged, document);
  return [map, ...sources.flatMap((source) => layersOf(mapAt(source, document), document, depth + 1))];
}

/** The entry that takes effect, with its mapping. */
export function effectivePair(
  layers: readonly MapNode[],
  key: string,
): { map: MapNode; pair: Pair<Scalar<string>, Node | null>; value: Node | null } | null {
  for (const map of layers) {
    const pair = map.items.find((one) => one.key.value === key);
    if (pair !== undefined) return { map, pair, value: pair.value };
  }
  return null;
}

/** Gives a scalar another text, quoted where YAML would read something else. */
export function setText(scalar: Scalar, text: string): void {
  scalar.value = text;
  delete scalar.source;
  const keepsStyle =
    scalar.type?.startsWith('QUOTE') === true || (scalar.type?.startsWith('BLOCK') === true && text.includes('\n'));
  if (!keepsStyle) scalar.type = isPlainText(text) ? 'PLAIN' : 'QUOTE_SINGLE';
}

/** A new scalar. */
export function newScalar(text: string): Scalar<string> {
  const scalar = new Scalar(text);
  setText(scalar, text);
  return scalar;
}

/** A scalar that YAML may read as a number or boolean; '' is null. */
export function plainScalar(text: string): Scalar<string> {
  const scalar = new Scalar(text);
  scalar.type = 'PLAIN';
  return scalar;
}

/** Puts a value under a key, in place of an older one. */
export function setValue(map: MapNode, key: string, value: Node): void {
  const pair = map.items.find((one) => one.key.value === key);
  if (pair === undefined) map.items.push(new Pair(key === '<<' ? plainScalar(key) : newScalar(key), value));
  else pair.value = value;
}

/** Removes a key; whether it was there. */
export function removeKey(map: MapNode | null, key: string): boolean {
  const at = map?.items.findIndex((pair) => pair.key.value === key) ?? -1;
  if (at >= 0) map?.items.splice(at, 1);
  return at >= 0;
}

/** A new mapping without entries, which is written as `{}` while it has none. */
export function newMap(): MapNode {
  return new YAMLMap<Scalar<string>, Node | null>();
}

/** A copy without anchors and aliases, merges written out. */
export function writtenOut(node: unknown, document: Aliases, depth = 0): Node | null {
  const found = resolve(node, document);
  if (found === null || depth > maxAliasSteps * 2) return null;
  if (isSeq(found)) {
    const copy = new YAMLSeq<Node>();
    keepForm(copy, found);
    copy.items = found.items.flatMap((item) => writtenOut(item, document, depth + 1) ?? []);
    return copy;
  }
  if (!isMap(found)) return withoutAnchor(found.clone() as Node);
  const copy = newMap();
  keepForm(copy, found);
  for (const layer of layersOf(found as MapNode, document)) {
    for (const { key, value } of layer.items) {
      if (key.value === '<<' || ownValue(copy, key.value) !== undefined) continue;
      copy.items.push(new Pair(newScalar(key.value), writtenOut(value, document, depth + 1)));
    }
  }
  return copy;
}

/** Style, and the tags that compose merges by. */
function keepForm(copy: YAMLMap | YAMLSeq, { flow, tag }: YAMLMap | YAMLSeq): void {
  if (flow === true) copy.flow = true;
  if (tag === '!reset' || tag === '!override') copy.tag = tag;
}

const maxAliasSteps = 20;

function withoutAnchor<N extends object>(node: N): N {
  delete (node as { anchor?: string }).anchor;
  return node;
}

function isNull(scalar: Scalar): boolean {
  return scalar.type === 'PLAIN' && /^(~|null|Null|NULL|)$/.test(String(scalar.value));
}

/** Text that YAML reads as text, without quotes. */
function isPlainText(text: string): boolean {
  return (
    /^[A-Za-z_./$][\w./:${}?=@-]*$/.test(text) &&
    !/^(true|false|yes|no|on|off|y|n|null)$|:$|^\.(inf|nan)$|^\.\d/i.test(text)
  );
}
