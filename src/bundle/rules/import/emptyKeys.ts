import { isSeq } from 'yaml';
import { tellChange, type ImportWork } from './importWork.ts';
import { servicePartsOf } from './services.ts';
import { isNullAt, itemsAt, removeKey, resolve, textAt, valueAt } from './yamlNodes.ts';

/** Keys of a service that compose lets be null. */
const nullableKeys: ReadonlySet<string> = new Set(['<<', 'command', 'deploy', 'develop', 'entrypoint']);

/** Takes out keys of services that have no value, as where all of it is a comment; compose refuses them. */
export function removeEmptyKeys(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    for (const { key, value } of map.items.slice()) {
      if (nullableKeys.has(key.value) || !isNullAt(value, document)) continue;
      removeKey(map, key.value);
      tellChange(work, { owner, key: key.value }, ['is left out', 'it has no value']);
    }
  }
}

/** Takes the empty names out of `profiles` that have others: nobody can choose such a profile. */
export function removeEmptyProfiles(work: ImportWork): void {
  for (const { map, document, owner } of servicePartsOf(work.documents)) {
    const profiles = resolve(valueAt(map, document, 'profiles'), document);
    const all = itemsAt(profiles, document);
    const named = all.filter((profile) => textAt(profile, document) !== '');
    if (!isSeq(profiles) || named.length === 0 || named.length === all.length) continue;
    profiles.items = named;
    tellChange(work, { owner, key: 'profiles' }, ['the empty name is left out', 'nobody can choose it']);
  }
}
