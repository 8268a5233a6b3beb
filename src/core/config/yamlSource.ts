import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  visit,
} from 'yaml';
import type { ConfigProblem } from './keyTable.ts';

/** A parsed config.yaml: its values (undefined when it is not a usable YAML), and the line of each value by JSON pointer. */
export interface YamlSource {
  values: unknown;
  lines: ReadonlyMap<string, number>;
  problems: ConfigProblem[];
}

/** Parses YAML text. Syntax errors, duplicate keys, aliases and several documents are problems. */
export function parseYamlSource(text: string): YamlSource {
  const counter = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, counter.linePos(offset).line);
  const options = { lineCounter: counter, prettyErrors: false, uniqueKeys: false };
  const [document, second] = parseAllDocuments(text, options);
  if (document === undefined) return { values: null, lines: new Map(), problems: [] };
  if (second !== undefined) {
    return unusableSource({
      line: lineAt(second.range[0]),
      key: '',
      message: 'a second document begins here; only one is allowed',
    });
  }
  const syntaxErrors = [...document.errors, ...document.warnings];
  if (syntaxErrors.length > 0) {
    return unusableSource(
      ...syntaxErrors.map(({ pos, message }) => ({ line: lineAt(pos[0]), key: '', message: `not YAML: ${message}` })),
    );
  }
  const aliases = aliasesOf(document).map((offset) => ({
    line: lineAt(offset),
    key: '',
    message: 'aliases are not allowed',
  }));
  if (aliases.length > 0) return unusableSource(...aliases);
  return { ...linesOf(document.contents, lineAt), values: document.toJS() as unknown };
}

/** The dotted key of a JSON pointer. */
export function dottedKeyOf(pointer: string): string {
  return pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The line of a value, or of the closest enclosing value with a line. */
export function lineOf(lines: ReadonlyMap<string, number>, pointer: string): number | null {
  for (let path = pointer; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) {
    const line = lines.get(path);
    if (line !== undefined) return line;
  }
  return null;
}

function unusableSource(...problems: ConfigProblem[]): YamlSource {
  return { values: undefined, lines: new Map(), problems: problems };
}

function aliasesOf(document: Document): number[] {
  const offsets: number[] = [];
  visit(document, { Alias: (_key, { range }) => void offsets.push(range?.[0] ?? 0) });
  return offsets;
}

function linesOf(root: unknown, lineAt: (offset: number) => number): Pick<YamlSource, 'lines' | 'problems'> {
  const lines = new Map<string, number>();
  const problems: ConfigProblem[] = [];
  const visitChildren = (node: unknown, pointer: string): void => {
    if (isMap(node)) node.items.forEach((pair) => visitPair(pair, `${pointer}/${pointerSegmentOf(pair)}`));
    if (isSeq(node)) node.items.forEach((item, index) => visitItem(item as Node, `${pointer}/${index}`));
  };
  const visitPair = (pair: Pair, pointer: string): void => {
    const line = lineAt((pair.key as Node).range?.[0] ?? 0);
    const first = lines.get(pointer);
    if (first !== undefined)
      problems.push({ line, key: dottedKeyOf(pointer), message: `is given twice, first in line ${first}` });
    else lines.set(pointer, line);
    visitChildren(pair.value, pointer);
  };
  const visitItem = (node: Node, pointer: string): void => {
    lines.set(pointer, lineAt(node.range?.[0] ?? 0));
    visitChildren(node, pointer);
  };
  visitChildren(root, '');
  return { lines, problems: problems };
}

/** A key as a JSON pointer segment; a null key is the empty string, as in the values. */
function pointerSegmentOf({ key }: Pair): string {
  const name = isScalar(key) ? (key.value ?? '') : key;
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}
