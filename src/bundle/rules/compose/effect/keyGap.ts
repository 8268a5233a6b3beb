import { entriesOf, isText, itemsOf, textOf, type ComposeNode } from '../document/composeNode.ts';
import { refuseWithoutValue, type Finding, type PolicyFacts, type ValueLocation } from '../policy/finding.ts';

/** A key that would have no effect where a bundle is to run. */
export interface KeyGap {
  /** As in the compose specification, below the service or the file. */
  key: string;
  /** Why not. */
  why: string;
  cure: string;
  /** A value that is refused, with its key. */
  example: string;
  /** The values in a service or file that are refused. */
  find: (owner: ComposeNode, facts: PolicyFacts) => readonly ComposeNode[];
}

/** A key that is refused with any value, or with any but a harmless one. */
export function keyGap(row: Omit<KeyGap, 'find'>, isHarmless: (text: string) => boolean = () => false): KeyGap {
  return {
    ...row,
    find: (owner) => nodesAt(owner, row.key.split('.')).filter((node) => !isHarmless(textOf(node) ?? 'any')),
  };
}

/** The values at a path of keys, in which `*` is any key and `key[]` each item of a list. */
export function nodesAt(node: ComposeNode, [first, ...rest]: readonly string[]): ComposeNode[] {
  if (first === undefined) return [node];
  const name = first.replace('[]', '');
  const found = entriesOf(node).flatMap(([key, value]) => (name === '*' || name === key ? [value] : []));
  return found.flatMap((value) => (first === name ? [value] : itemsOf(value))).flatMap((value) => nodesAt(value, rest));
}

/** The findings of gaps in a service or a file; `where` follows "is refused". */
export function gapFindings(
  owner: ComposeNode,
  { gaps, where }: { gaps: readonly KeyGap[]; where: string },
  location: ValueLocation,
): Finding[] {
  return gaps.flatMap(({ key, why, cure, find }) =>
    find(owner, location.facts)
      .filter((node) => !isText(node) || node.text !== '')
      .flatMap((node) => {
        const problem = { message: `is refused${where}: ${why}`, cure };
        return refuseWithoutValue(node, { ...location, keyPath: key }, problem);
      }),
  );
}
