/**
 * A parsed value of a compose file, with its line. Every scalar is its text: compose converts to numbers and booleans
 * only after interpolation, so the policy validates the text as written.
 */
export type ComposeNode = Scalar | List | Mapping;

export interface Scalar {
  readonly kind: 'scalar';
  readonly text: string;
  /** Empty, or an unquoted `~` or `null`. */
  readonly isNull: boolean;
  /** Set for one in quotes, or in a block: no program takes it for a number. */
  readonly isQuoted?: true;
  /** 1-based. */
  readonly line: number;
}

interface List {
  readonly kind: 'list';
  readonly items: readonly ComposeNode[];
  readonly line: number;
}

export interface Mapping {
  readonly kind: 'map';
  /** Each value has the line of its key. */
  readonly entries: ReadonlyMap<string, ComposeNode>;
  readonly line: number;
}

/** One parsed compose file; `path` is as the manifest names it. */
export interface ComposeFile {
  path: string;
  root: Mapping;
}

/** The value under a chain of keys; undefined when a key is missing. */
export function valueAt(node: ComposeNode | undefined, ...keys: string[]): ComposeNode | undefined {
  return keys.reduce((found, key) => (found?.kind === 'map' ? found.entries.get(key) : undefined), node);
}

/** The value under a chain of keys in each node that has it. */
export function valuesAt(nodes: readonly (ComposeNode | undefined)[], ...keys: string[]): ComposeNode[] {
  return nodes.flatMap((node) => valueAt(node, ...keys) ?? []);
}

/** The entries of a mapping; empty for any other value. */
export function entriesOf(node: ComposeNode | undefined): [string, ComposeNode][] {
  return node?.kind === 'map' ? [...node.entries] : [];
}

/** The items of a list; a scalar or mapping counts as a list of one, as in `env_file: a`. */
export function itemsOf(node: ComposeNode | undefined): readonly ComposeNode[] {
  if (node === undefined) return [];
  return node.kind === 'list' ? node.items : [node];
}

/** Whether a value is a scalar that is not null. */
export function isText(node: ComposeNode | undefined): node is Scalar {
  return node?.kind === 'scalar' && !node.isNull;
}

/** The text of a scalar; null for null and for any other value. */
export function textOf(node: ComposeNode | undefined): string | null {
  return isText(node) ? node.text : null;
}

/** The text of every value that has one. */
export function textsOf(nodes: readonly (ComposeNode | undefined)[]): string[] {
  return nodes.filter(isText).map(({ text }) => text);
}

/** Every scalar value below a node, without keys: the texts in which compose replaces variables. */
export function scalarsOf(node: ComposeNode): Scalar[] {
  if (node.kind === 'scalar') return [node];
  return [...(node.kind === 'list' ? node.items : node.entries.values())].flatMap(scalarsOf);
}

/** Converts parsed JSON; every line is 0. */
export function nodeFromJson(value: unknown): ComposeNode {
  const line = 0;
  if (Array.isArray(value)) return { kind: 'list', items: value.map(nodeFromJson), line };
  if (typeof value === 'object' && value !== null) {
    return {
      kind: 'map',
      entries: new Map(Object.entries(value).map(([key, inner]) => [key, nodeFromJson(inner)])),
      line,
    };
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { kind: 'scalar', text, isNull: value === null, line };
}

/** Limits far above any real compose file; they stop documents that are made to exhaust the agent or compose. */
export const maxCharacters = 524_288;
export const maxNodes = 50_000;
export const maxDepth = 40;

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
