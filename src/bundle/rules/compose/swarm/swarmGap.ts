import { itemsOf, entriesOf, textOf, type ComposeNode } from '../document/composeNode.ts';
import type { PolicyFacts } from '../policy/finding.ts';

/** What compose can do and a swarm cannot. */
export interface SwarmGap {
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
export function keyGap(row: Omit<SwarmGap, 'find'>, isHarmless: (text: string) => boolean = () => false): SwarmGap {
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
