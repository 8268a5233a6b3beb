import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import type { Node, Pair, YAMLMap } from 'yaml';
import { printable } from '../../../protocol/printable.ts';
import { layersOf } from './layers.ts';
import type { ComposeFile, Mapping, Tree } from './tree.ts';
import { excessOf, maxCharacters, weightOf, type Weight } from './weight.ts';

export type { ComposeFile };

const maxFaults = 100;

/**
 * Reads one compose file. Only YAML that every parser reads alike is accepted: one document, unique text keys, no tags,
 * no directives; anchors and merge keys are resolved (spec §12).
 */
export function parseComposeFile(path: string, text: string): { file: ComposeFile } | { faults: string[] } {
  const copied = { nodes: 0, characters: text.length };
  const reading: Reading = { path, lines: new LineCounter(), anchors: new Map(), faults: [], ...copied };
  judgeText(text, reading);
  const root = reading.faults.length === 0 ? rootOf(text, reading) : null;
  if (reading.faults.length > 0) return { faults: reading.faults };
  if (root?.kind === 'map') return bounded({ path, root }, reading);
  complain(reading, 1, 'a compose file must be a mapping');
  return { faults: reading.faults };
}

/** A service holds all that it extends once more. */
function bounded(file: ComposeFile, reading: Reading): { file: ComposeFile } | { faults: string[] } {
  for (const layers of layersOf([file]).values()) {
    const [own, ...bases] = layers.toReversed();
    const isTooMuch = bases.some((base) => isBeyond(reading, { ...weightOf(base), depth: 0 }, own?.line ?? 1));
    if (isTooMuch) return { faults: reading.faults };
  }
  return { file };
}

interface Reading {
  path: string;
  lines: LineCounter;
  /** Null while the anchored value itself is being read. */
  anchors: Map<string, Tree | null>;
  /** Values and characters so far, those of aliases, merges and bases counted again. */
  nodes: number;
  characters: number;
  faults: string[];
}

/** Characters that compose's parser takes for line ends, and this one does not, could hide a key in a comment. */
function judgeText(text: string, reading: Reading): void {
  if (text.length > maxCharacters) complain(reading, 1, `more than ${maxCharacters} characters`);
  for (const [index, line] of text.split('\n').entries()) {
    const content = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffd\p{Cs}]/u.test(content)) {
      complain(reading, index + 1, 'a control character, a foreign line end, a byte order mark or no UTF-8');
    }
    if (content.startsWith('\t')) complain(reading, index + 1, 'indented by a tab');
    if (content.startsWith('%')) complain(reading, index + 1, 'a YAML directive');
  }
}

function rootOf(text: string, reading: Reading): Tree | null {
  const documents = documentsOf(text, reading);
  for (const { errors, warnings } of documents) {
    const others = warnings.filter(({ code }) => code !== 'TAG_RESOLVE_FAILED');
    for (const { pos, message } of [...errors, ...others]) complain(reading, lineOf(pos[0], reading), message);
  }
  if (documents.length > 1) complain(reading, lineOf(documents[1]?.range[0], reading), 'several documents in one file');
  const [document] = documents;
  return document?.contents && reading.faults.length === 0 ? treeOf(document.contents, 0, reading) : null;
}

/** Keys are compared while the tree is read: the parser's own comparison takes quadratic time. */
function documentsOf(text: string, reading: Reading) {
  const { lines: lineCounter } = reading;
  const spelling = { keepSourceTokens: true, prettyErrors: false } as const;
  const options = { schema: 'failsafe', uniqueKeys: false, lineCounter, ...spelling } as const;
  try {
    const documents = parseAllDocuments(text, options);
    return 'empty' in documents ? [] : documents;
  } catch {
    complain(reading, 1, 'cannot be read as YAML');
    return [];
  }
}

function treeOf(node: Node | null, depth: number, reading: Reading): Tree {
  const line = lineOf(node?.range?.[0], reading);
  if (node === null || isBeyond(reading, { nodes: 1, characters: 0, depth }, line)) return nothing(line);
  if (isAlias(node)) return aliased(node.source, { depth, line }, reading);
  if (node.tag !== undefined) complain(reading, line, `the YAML tag ${node.tag}`);
  const anchor = (node as { anchor?: string }).anchor;
  if (anchor === undefined) return valueOf(node, depth, reading);
  if (!/^[\w-]+$/.test(anchor)) complain(reading, line, `the anchor &${anchor}, which compose cannot read`);
  if (reading.anchors.has(anchor)) complain(reading, line, `the anchor &${anchor} a second time`);
  reading.anchors.set(anchor, null);
  const tree = valueOf(node, depth, reading);
  reading.anchors.set(anchor, tree);
  return tree;
}

function valueOf(node: Node, depth: number, reading: Reading): Tree {
  const line = lineOf(node.range?.[0], reading);
  if (isMap(node)) return mappingOf(node as YAMLMap<Node | null, Node | null>, depth, reading);
  if (isSeq(node)) {
    if (node.flow === true) judgeBracketed(node.items as Node[], reading);
    return { kind: 'list', items: node.items.map((item) => treeOf(item as Node, depth + 1, reading)), line };
  }
  const { value, type, srcToken } = isScalar(node) ? node : {};
  const source = type === 'QUOTE_DOUBLE' && srcToken && 'source' in srcToken ? srcToken.source : '';
  if (/\\u[dD][89a-fA-F]/.test(source))
    complain(reading, line, 'half a character behind an escape, which compose cannot read');
  const text = typeof value === 'string' ? value : '';
  return { kind: 'scalar', text, isNull: type === 'PLAIN' && /^(~|null|Null|NULL|)$/.test(text), line };
}

function mappingOf(node: YAMLMap<Node | null, Node | null>, depth: number, reading: Reading): Mapping {
  const entries = new Map<string, Tree>();
  let merged: Tree | null = null;
  for (const pair of node.items) {
    const key = keyOf(pair, reading);
    const line = lineOf(pair.key?.range?.[0] ?? node.range?.[0], reading);
    judgePair(pair, node.flow === true, reading);
    const value = { ...treeOf(pair.value, depth + 1, reading), line };
    if (key === '<<' ? merged !== null : entries.has(key)) complain(reading, line, `the key ${key} a second time`);
    if (key === '<<') merged = value;
    else entries.set(key, value);
  }
  if (merged !== null) merge(entries, merged, reading);
  return { kind: 'map', entries, line: lineOf(node.range?.[0], reading) };
}

/** Spellings of a key that compose's parser reads in another way, or not at all. */
function judgePair(pair: Pair<Node | null, Node | null>, isBracketed: boolean, reading: Reading): void {
  const { key, value, srcToken } = pair;
  const line = lineOf(key?.range?.[0], reading);
  const isExplicit = srcToken?.start.some(({ type }) => type === 'explicit-key-ind');
  if (isExplicit === true) complain(reading, line, 'a key behind a question mark');
  if (!isBracketed) return;
  const isTight = isScalar(key) && key.type === 'PLAIN' && srcToken?.sep?.length === 1;
  if (isTight) complain(reading, line, `the key ${String(key.value)} without a space behind its colon`);
  judgeBracketed([key, value], reading);
}

/** Between brackets compose's parser takes an unquoted question mark, or a colon in front, for a part of a key. */
function judgeBracketed(nodes: readonly (Node | null)[], reading: Reading): void {
  for (const node of nodes) {
    const isOdd = isScalar(node) && node.type === 'PLAIN' && /\?|^:/.test(String(node.value));
    if (isOdd) complain(reading, lineOf(node.range?.[0], reading), 'an unquoted ? or leading : between brackets');
  }
}

/** Keys that YAML takes for something else than text are not compose's to read. */
const notText = /^(~|null|true|false|[-+]?(\.?\d[\d_.]*(e[-+]?\d+)?|0x[\da-f_]+|0o[0-7_]+|\.inf)|\.nan|)$/i;

function keyOf({ key }: Pair<Node | null, Node | null>, reading: Reading): string {
  const line = lineOf(key?.range?.[0], reading);
  if (!isScalar(key) || typeof key.value !== 'string' || key.anchor !== undefined || key.tag !== undefined) {
    complain(reading, line, 'a key that is not plain text');
    return '';
  }
  const isPlain = key.type === 'PLAIN';
  if (isPlain ? notText.test(key.value) : key.value === '<<')
    complain(reading, line, `the key ${key.value} is not text`);
  return key.value;
}

/** What stands in the mapping itself wins over what is merged into it, an earlier merge over a later one. */
function merge(entries: Map<string, Tree>, from: Tree, reading: Reading): void {
  if (isBeyond(reading, { nodes: 0, characters: 0, depth: 0 }, from.line)) return;
  for (const source of from.kind === 'list' ? from.items : [from]) {
    if (source.kind !== 'map') complain(reading, from.line, 'a merge of something that is not a mapping');
    else if (!isBeyond(reading, weightOf(source), from.line)) {
      for (const [key, value] of source.entries) if (!entries.has(key)) entries.set(key, value);
    }
  }
}

function aliased(name: string, { depth, line }: { depth: number; line: number }, reading: Reading): Tree {
  const tree = reading.anchors.get(name);
  if (!tree) {
    complain(reading, line, `the alias *${name} points nowhere or into itself`);
    return nothing(line);
  }
  const weight = weightOf(tree);
  const isTooMuch = isBeyond(reading, { ...weight, depth: depth + weight.depth }, line);
  return isTooMuch ? nothing(line) : { ...tree, line };
}

/** Counts what is read or copied next; true when it is too much, which is told only once of the whole. */
function isBeyond(reading: Reading, more: Weight, line: number): boolean {
  const before = excessOf({ nodes: reading.nodes, characters: reading.characters, depth: 0 });
  reading.nodes += more.nodes;
  reading.characters += more.characters;
  const excess = before ?? excessOf({ nodes: reading.nodes, characters: reading.characters, depth: more.depth });
  if (before === null && excess !== null) complain(reading, line, excess);
  return excess !== null;
}

function nothing(line: number): Tree {
  return { kind: 'scalar', text: '', isNull: true, line };
}

function lineOf(offset: number | undefined, reading: Reading): number {
  return offset === undefined ? 1 : Math.max(1, reading.lines.linePos(offset).line);
}

function complain(reading: Reading, line: number, what: string): void {
  if (reading.faults.length < maxFaults) reading.faults.push(`${printable(what)} (${printable(reading.path)}:${line})`);
}
