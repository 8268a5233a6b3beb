import { isMap } from 'yaml';
import type { Node } from 'yaml';
import { leaveUndecided, tellChange, type ImportWork } from './importWork.ts';
import type { ProjectDocument } from './projectDocument.ts';
import { mapAt, ownValue, removeKey, valueAt, type MapNode } from './yamlNodes.ts';

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
        `${tag} is carried out in the files before`,
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
