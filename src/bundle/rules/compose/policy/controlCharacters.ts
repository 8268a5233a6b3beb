import { refuse, type Finding, type ValueLocation } from './finding.ts';
import { atKey } from './validators.ts';
import { entriesOf, type ComposeNode } from '../document/composeNode.ts';

/** Characters that another program may read as the end of a field, line or text. */
const controlCharacter = /[\p{Cc}\u2028\u2029\ufeff\p{Cs}]/u;
/** Control characters that free text may not hold either; line ends and tabs are allowed there. */
const forbiddenCharacter = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\p{Cs}]/u;

/** Key paths of free text, which may have several lines. */
const freeTextKeys =
  /^(command|entrypoint|environment|labels|annotations|healthcheck\.test|deploy\.labels|(post_start|pre_start|pre_stop)\.(command|environment)|top \w+\.(content|labels))$/;

/**
 * Finds control characters in keys and values. A YAML escape can produce them, and compose or the engine could read
 * them as the end of a path or name. Free text of a rendered model is exempt: it may contain the value of a secret.
 */
export function validateControlCharacters(root: ComposeNode, location: ValueLocation): Finding[] {
  return entriesOf(root).flatMap(([section, value]) => {
    const sectionLocation = { ...location, keyPath: section };
    if (section.startsWith('x-') || value.kind !== 'map')
      return validateValue(value, sectionLocation, section.startsWith('x-') ? 'free' : []);
    const named = entriesOf(value).flatMap(([name, part]) => {
      const owner = `${section.replace(/s$/, '')} ${name}`;
      return [
        ...validateKey(name, part, sectionLocation),
        ...validateValue(part, { ...location, owner }, section === 'services' ? [] : [`top ${section}`]),
      ];
    });
    return [...validateKey(section, value, location), ...named];
  });
}

const withoutIt = 'write it without';

type KeyChain = readonly string[] | 'free';

function validateValue(node: ComposeNode, location: ValueLocation, keys: KeyChain): Finding[] {
  if (node.kind === 'list') return node.items.flatMap((item) => validateValue(item, location, keys));
  if (node.kind === 'map') {
    return entriesOf(node).flatMap(([name, inner]) => [
      ...validateKey(name, inner, location),
      ...validateValue(inner, atKey(location, name), extendChain(keys, name)),
    ]);
  }
  const isFree = keys === 'free';
  if (isFree && location.facts.rendered) return [];
  return (isFree ? forbiddenCharacter : controlCharacter).test(node.text)
    ? refuse(node, location, { message: 'holds a control character', cure: withoutIt })
    : [];
}

function validateKey(name: string, value: ComposeNode, location: ValueLocation): Finding[] {
  return controlCharacter.test(name)
    ? refuse(value, location, { message: 'has a key with a control character', cure: withoutIt })
    : [];
}

function extendChain(keys: KeyChain, name: string): KeyChain {
  if (keys === 'free' || name.startsWith('x-')) return 'free';
  const path = [...keys, name];
  return freeTextKeys.test(path.join('.')) ? 'free' : path;
}
