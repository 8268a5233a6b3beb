import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  visit,
  type Document,
  type Node,
  type Pair,
} from 'yaml';
import type { Flaw } from './invalid.ts';

/** The configuration as it was written: plain values (undefined when unreadable), and each line by its JSON pointer. */
export interface Written {
  values: unknown;
  lines: ReadonlyMap<string, number>;
  flaws: Flaw[];
}

/** Reads YAML text; whatever makes it ambiguous (bad syntax, a key given twice, several documents) is a flaw. */
export function parseWritten(text: string): Written {
  const counter = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, counter.linePos(offset).line);
  const documents = parseAllDocuments(text, { lineCounter: counter, prettyErrors: false, uniqueKeys: false });
  const [document, second] = 'empty' in documents ? [] : documents;
  if (document === undefined) return { values: null, lines: new Map(), flaws: [] };
  if (second !== undefined) {
    return broken({
      line: lineAt(second.range[0]),
      key: '',
      text: 'a second document begins here; only one is allowed',
    });
  }
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    return broken(
      ...faults.map(({ pos, message }) => ({ line: lineAt(pos[0]), key: '', text: `not YAML: ${message}` })),
    );
  }
  const aliases = aliasesOf(document).map((offset) => ({
    line: lineAt(offset),
    key: '',
    text: 'aliases are not allowed',
  }));
  if (aliases.length > 0) return broken(...aliases);
  return { ...linesOf(document.contents, lineAt), values: document.toJS() as unknown };
}

/** The dotted key of a JSON pointer. */
export function dotted(pointer: string): string {
  return pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The line of a value, or of the nearest thing around it that has one. */
export function lineOf(lines: ReadonlyMap<string, number>, pointer: string): number | null {
  for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const line = lines.get(at);
    if (line !== undefined) return line;
  }
  return null;
}

function broken(...flaws: Flaw[]): Written {
  return { values: undefined, lines: new Map(), flaws };
}

function aliasesOf(document: Document): number[] {
  const offsets: number[] = [];
  visit(document, { Alias: (_key, { range }) => void offsets.push(range?.[0] ?? 0) });
  return offsets;
}

function linesOf(root: unknown, lineAt: (offset: number) => number): Pick<Written, 'lines' | 'flaws'> {
  const lines = new Map<string, number>();
  const flaws: Flaw[] = [];
  const walk = (node: unknown, pointer: string): void => {
    if (isMap(node)) node.items.forEach((pair) => enter(pair, `${pointer}/${escaped(pair)}`));
    if (isSeq(node)) node.items.forEach((item, index) => note(item as Node, `${pointer}/${index}`));
  };
  const enter = (pair: Pair, pointer: string): void => {
    const line = lineAt((pair.key as Node).range?.[0] ?? 0);
    const first = lines.get(pointer);
    if (first !== undefined) flaws.push({ line, key: dotted(pointer), text: `is given twice, first in line ${first}` });
    else lines.set(pointer, line);
    walk(pair.value, pointer);
  };
  const note = (node: Node, pointer: string): void => {
    lines.set(pointer, lineAt(node.range?.[0] ?? 0));
    walk(node, pointer);
  };
  walk(root, '');
  return { lines, flaws };
}

/** A key as it will be named in the values, where one without text is the empty name. */
function escaped({ key }: Pair): string {
  const name = isScalar(key) ? (key.value ?? '') : key;
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}
