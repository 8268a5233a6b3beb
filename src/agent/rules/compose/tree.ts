/**
 * A compose file as plain values with the line each stands on. Every scalar is its text: compose turns text into
 * numbers and booleans only after it has put in the variables, so the policy judges what is written.
 */
export type Tree = Scalar | List | Mapping;

export interface Scalar {
  readonly kind: 'scalar';
  readonly text: string;
  /** Nothing written, or an unquoted `~` or `null`. */
  readonly isNull: boolean;
  /** 1-based. */
  readonly line: number;
}

export interface List {
  readonly kind: 'list';
  readonly items: readonly Tree[];
  readonly line: number;
}

export interface Mapping {
  readonly kind: 'map';
  /** The line of each value is the one of its key. */
  readonly entries: ReadonlyMap<string, Tree>;
  readonly line: number;
}

/** One parsed compose file; `path` is as the manifest names it. */
export interface ComposeFile {
  path: string;
  root: Mapping;
}

/** The value under a chain of keys, undefined where one of them is missing. */
export function at(tree: Tree | undefined, ...keys: string[]): Tree | undefined {
  return keys.reduce((found, key) => (found?.kind === 'map' ? found.entries.get(key) : undefined), tree);
}

/** The entries of a mapping; of anything else, none. */
export function entriesOf(tree: Tree | undefined): [string, Tree][] {
  return tree?.kind === 'map' ? [...tree.entries] : [];
}

/** The items of a list; a scalar or mapping is a list of one, as in `env_file: a`. */
export function itemsOf(tree: Tree | undefined): readonly Tree[] {
  if (tree === undefined) return [];
  return tree.kind === 'list' ? tree.items : [tree];
}

/** The text of a scalar that is not null, else null. */
export function textOf(tree: Tree | undefined): string | null {
  return tree?.kind === 'scalar' && !tree.isNull ? tree.text : null;
}

/** Every scalar value below a tree, keys left out: exactly the texts in which compose replaces variables. */
export function scalarsOf(tree: Tree): Scalar[] {
  if (tree.kind === 'scalar') return [tree];
  return [...(tree.kind === 'list' ? tree.items : tree.entries.values())].flatMap(scalarsOf);
}

/** Parsed JSON as a tree; it has no lines. */
export function treeOf(value: unknown): Tree {
  const line = 0;
  if (Array.isArray(value)) return { kind: 'list', items: value.map(treeOf), line };
  if (typeof value === 'object' && value !== null) {
    return { kind: 'map', entries: new Map(Object.entries(value).map(([key, inner]) => [key, treeOf(inner)])), line };
  }
  if (value === null) return { kind: 'scalar', text: '', isNull: true, line };
  return { kind: 'scalar', text: typeof value === 'string' ? value : JSON.stringify(value), isNull: false, line };
}
