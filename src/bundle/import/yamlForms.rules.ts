import { isAlias, isMap, isNode, type Node, visit } from 'yaml';
import { type ImportWork, leaveUndecided, tellChange } from './importWork.rules.ts';
import type { ProjectDocument } from './projectDocument.rules.ts';
import { mapAt, type MapNode, ownValue, removeKey, valueAt, writtenOut } from './yamlNodes.rules.ts';

/**
 * Carries out `!reset` and `!override`, which a bundle may not have: what they take out of the files before is removed
 * from these.
 */
export function resolveMergeTags(work: ImportWork): void {
  for (const [index, document] of work.documents.entries()) {
    const before = work.documents.slice(0, index);
    resolveBelow(document.root as MapNode, [], { work, document, before });
  }
}

interface Context {
  work: ImportWork;
  document: ProjectDocument;
  before: ProjectDocument[];
}

function resolveBelow(map: MapNode, path: string[], context: Context): void {
  for (const { key, value } of map.items.slice()) {
    const keys = [...path, key.value];
    const tag = value?.tag;
    if (tag === '!reset' || tag === '!override') {
      for (const earlier of context.before) removeEarlier(earlier, keys, context.work);
      tellChange(context.work, placeOf(keys), [
        `${tag} is carried out in the preceding files`,
        'a bundle has no YAML tags',
      ]);
      if (tag === '!reset') removeKey(map, key.value);
      else delete (value as Node).tag;
    }
    if (isMap(value)) resolveBelow(value as MapNode, keys, context);
  }
}

function removeEarlier(document: ProjectDocument, keys: string[], work: ImportWork): void {
  const [last = '', path] = [keys.at(-1), keys.slice(0, -1)];
  const parent = path.reduce<MapNode | null>(
    (map, key) => mapAt(ownValue(map, key), document),
    mapAt(document.root, document),
  );
  if (removeKey(parent, last) || valueAt(document.root, document, ...keys) === null) return;
  const cure = `take it out of ${document.path} by hand`;
  leaveUndecided(work, placeOf(keys), ['is merged into what a later file resets', cure]);
}

function placeOf(keys: string[]): { owner: string; key: string } {
  const [section = '', name, ...rest] = keys;
  return name === undefined
    ? { owner: 'file', key: section }
    : { owner: `${section.replace(/s$/, '')} ${name}`, key: rest.join('.') };
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
