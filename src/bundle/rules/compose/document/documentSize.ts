import type { ComposeNode } from './composeNode.ts';

/** Limits far above any real compose file; they stop documents that are made to exhaust the agent or compose. */
export const maxCharacters = 524_288;
export const maxNodes = 50_000;
const maxDepth = 40;

/** The size of a value with all aliases expanded. */
export interface DocumentSize {
  /** Values of every kind. */
  nodes: number;
  /** Characters of its texts and keys. */
  characters: number;
  /** Levels of nesting. */
  depth: number;
}

export function documentSizeOf(node: ComposeNode): DocumentSize {
  if (node.kind === 'scalar') return { nodes: 1, characters: node.text.length, depth: 1 };
  const parts = node.kind === 'list' ? node.items.map((item) => ['', item] as const) : [...node.entries];
  const sum: DocumentSize = { nodes: 1, characters: 0, depth: 0 };
  for (const [key, part] of parts) {
    const { nodes, characters, depth } = documentSizeOf(part);
    sum.nodes += nodes;
    sum.characters += key.length + characters;
    sum.depth = Math.max(sum.depth, depth);
  }
  return { ...sum, depth: sum.depth + 1 };
}

/** Which limit a size exceeds; null when none. */
export function exceededLimitOf({ nodes, characters, depth }: DocumentSize): string | null {
  if (depth > maxDepth) return `nested deeper than ${maxDepth} levels`;
  if (nodes > maxNodes) return `more than ${maxNodes} values, copies counted in full`;
  return characters > maxCharacters ? `more than ${maxCharacters} characters, copies counted in full` : null;
}
