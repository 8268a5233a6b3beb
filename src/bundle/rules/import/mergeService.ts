import { isMap, isScalar, isSeq, Pair, YAMLMap, YAMLSeq } from 'yaml';
import type { Node, Scalar } from 'yaml';
import { newMap, newScalar, ownValue, plainScalar, setValue, type MapNode } from './yamlNodes.ts';

/**
 * A service over the base that it extends, merged as compose does: mappings by key, lists joined, `NAME=value` by name,
 * mounts by target, commands replaced. Both are written out, without aliases.
 */
export function mergeService(base: MapNode, service: MapNode): MapNode {
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
    const before = ownValue(base, key.value);
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

/** What is merged: lists of names and of `NAME=value` as mappings, one text of `env_file` and the like as a list. */
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
