import { refuse, type Finding, type Place } from './finding.ts';
import { within } from './shapes.ts';
import { entriesOf, type Tree } from './tree.ts';

/** Characters that end a field, a line or a text for somebody who reads it later. */
const control = /[\p{Cc}\u2028\u2029\ufeff\p{Cs}]/u;
/** Those that nothing can bring to a container, or that no text of people needs; lines and tabs are not among them. */
const strange = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\p{Cs}]/u;

/** Parts of a service, or of the top level, that hold the words of people or programs, which may have lines. */
const free =
  /^(command|entrypoint|environment|labels|annotations|healthcheck\.test|deploy\.labels|(post_start|pre_start|pre_stop)\.(command|environment)|top \w+\.(content|labels))$/;

/**
 * Control characters that an escape put into keys and values: YAML lets them pass, and they could end a path or a name
 * for compose or the engine. In a rendered model free text may hold whatever the value of a secret does.
 */
export function judgeControls(root: Tree, place: Place): Finding[] {
  return entriesOf(root).flatMap(([section, value]) => {
    const inside = { ...place, key: section };
    if (section.startsWith('x-') || value.kind !== 'map')
      return judge(value, inside, section.startsWith('x-') ? 'free' : []);
    const named = entriesOf(value).flatMap(([name, part]) => {
      const where = `${section.replace(/s$/, '')} ${name}`;
      return [
        ...key(name, part, inside),
        ...judge(part, { ...place, where }, section === 'services' ? [] : [`top ${section}`]),
      ];
    });
    return [...key(section, value, place), ...named];
  });
}

type Chain = readonly string[] | 'free';

function judge(tree: Tree, place: Place, chain: Chain): Finding[] {
  if (tree.kind === 'list') return tree.items.flatMap((item) => judge(item, place, chain));
  if (tree.kind === 'map') {
    return entriesOf(tree).flatMap(([name, inner]) => [
      ...key(name, inner, place),
      ...judge(inner, within(place, name), further(chain, name)),
    ]);
  }
  const isFree = chain === 'free';
  if (isFree && place.facts.rendered) return [];
  return (isFree ? strange : control).test(tree.text) ? refuse(tree, place, 'holds a control character') : [];
}

function key(name: string, value: Tree, place: Place): Finding[] {
  return control.test(name) ? refuse(value, place, 'has a key with a control character') : [];
}

function further(chain: Chain, name: string): Chain {
  if (chain === 'free' || name.startsWith('x-')) return 'free';
  const longer = [...chain, name];
  return free.test(longer.join('.')) ? 'free' : longer;
}
