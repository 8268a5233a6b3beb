import type { Tree } from './tree.ts';

/** A compose file is written by people; these bounds only stop documents made to exhaust the agent, or compose. */
export const maxCharacters = 524_288;
export const maxNodes = 50_000;
const maxDepth = 40;

/** How much a value is once everything that it copies stands in it. */
export interface Weight {
  /** Values of every kind. */
  nodes: number;
  /** Characters of its texts and keys. */
  characters: number;
  /** Levels. */
  depth: number;
}

/** The weight of a value. */
export function weightOf(tree: Tree): Weight {
  if (tree.kind === 'scalar') return { nodes: 1, characters: tree.text.length, depth: 1 };
  const parts = tree.kind === 'list' ? tree.items.map((item) => ['', item] as const) : [...tree.entries];
  const sum: Weight = { nodes: 1, characters: 0, depth: 0 };
  for (const [key, part] of parts) {
    const { nodes, characters, depth } = weightOf(part);
    sum.nodes += nodes;
    sum.characters += key.length + characters;
    sum.depth = Math.max(sum.depth, depth);
  }
  return { ...sum, depth: sum.depth + 1 };
}

/** What is too much about a weight; null when nothing is. */
export function excessOf({ nodes, characters, depth }: Weight): string | null {
  if (depth > maxDepth) return `nested deeper than ${maxDepth} levels`;
  if (nodes > maxNodes) return `more than ${maxNodes} values, copies counted in full`;
  return characters > maxCharacters ? `more than ${maxCharacters} characters, copies counted in full` : null;
}
