import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  type YAMLMap,
} from 'yaml';
import type { RefusedFault } from '../../../machines/refusals.ts';
import { encodingFault, printable, saveAsUtf8 } from '../../core/text.rules.ts';
import {
  type ComposeFile,
  type ComposeNode,
  type DocumentSize,
  documentSizeOf,
  exceededLimitOf,
  type Mapping,
  maxCharacters,
  maxDepth,
} from './composeNode.rules.ts';
import { serviceLayers } from './services.rules.ts';

export type { ComposeFile };

const maxProblems = 100;

/**
 * Parses one compose file. It accepts only YAML that all parsers read in the same way: one document, unique text keys,
 * no tags, no directives. Anchors and merge keys are resolved, a byte order mark at its start is skipped (spec §12).
 */
export function parseComposeFile(path: string, source: string): { file: ComposeFile } | { problems: RefusedFault[] } {
  const text = source.replace(/^\ufeff/, '');
  const copied = { nodes: 0, characters: text.length };
  const state: ParseState = { path, lines: new LineCounter(), anchors: new Map(), problems: [], ...copied };
  validateSource(text, state);
  const root = state.problems.length === 0 ? parseRoot(text, state) : null;
  if (state.problems.length > 0) return { problems: state.problems };
  if (root?.kind === 'map') return limitExtendedSize({ path, root }, state);
  addProblem(state, 1, 'a compose file must be a mapping');
  return { problems: state.problems };
}

/** Counts the bases of `extends` again for each service that extends them. */
function limitExtendedSize(file: ComposeFile, state: ParseState): { file: ComposeFile } | { problems: RefusedFault[] } {
  for (const layers of serviceLayers([file]).values()) {
    const [own, ...bases] = layers.toReversed();
    const isOver = bases.some((base) => exceedsSize(state, { ...documentSizeOf(base), depth: 0 }, own?.line ?? 1));
    if (isOver) return { problems: state.problems };
  }
  return { file };
}

interface ParseState {
  path: string;
  lines: LineCounter;
  /** Null while the anchored value itself is being parsed. */
  anchors: Map<string, ComposeNode | null>;
  /** Values and characters so far; values of aliases, merges and bases are counted at each use. */
  nodes: number;
  characters: number;
  problems: RefusedFault[];
}

/** Refuses characters that only compose's parser reads as line ends: they could hide a key in a comment. */
function validateSource(text: string, state: ParseState): void {
  if (text.length > maxCharacters) addSizeProblem(state, 1, `more than ${maxCharacters} characters`);
  const encoding = encodingFault(text);
  if (encoding !== null) {
    pushProblem(state, { line: 1, message: `the file ${encoding}`, cure: saveAsUtf8 });
    return;
  }
  for (const [index, line] of text.split('\n').entries()) {
    const content = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\p{Cs}]/u.test(content)) {
      addProblem(state, index + 1, 'a control character, a foreign line end or a byte order mark');
    }
    if (content.startsWith('\t')) addProblem(state, index + 1, 'indented by a tab');
    if (content.startsWith('%')) addProblem(state, index + 1, 'a YAML directive');
  }
}

function parseRoot(text: string, state: ParseState): ComposeNode | null {
  const documents = parseDocuments(text, state);
  for (const { errors, warnings } of documents) {
    const others = warnings.filter(({ code }) => code !== 'TAG_RESOLVE_FAILED');
    const all = [...errors, ...others];
    const deep = all.find(({ message }) => /call stack/.test(message));
    if (deep) addSizeProblem(state, lineAt(deep.pos[0], state), `nested deeper than ${maxDepth} levels`);
    else for (const { pos, message } of all) addProblem(state, lineAt(pos[0], state), message);
  }
  const [document, second] = documents;
  if (second) addProblem(state, lineAt(second.range[0], state), 'several documents in one file');
  return document?.contents && state.problems.length === 0 ? convertNode(document.contents, 0, state) : null;
}

/** Without the parser's check for unique keys, which takes quadratic time; `convertMapping` checks them. */
function parseDocuments(text: string, state: ParseState) {
  const { lines: lineCounter } = state;
  const sourceOptions = { keepSourceTokens: true, prettyErrors: false } as const;
  const options = { schema: 'failsafe', uniqueKeys: false, lineCounter, ...sourceOptions } as const;
  try {
    return parseAllDocuments(text, options);
  } catch {
    addProblem(state, 1, 'cannot be read as YAML');
    return [];
  }
}

function convertNode(node: Node | null, depth: number, state: ParseState): ComposeNode {
  const line = lineOf(node, state);
  if (node === null || exceedsSize(state, { nodes: 1, characters: 0, depth }, line)) return nullNode(line);
  if (isAlias(node)) return resolveAlias(node.source, { depth, line }, state);
  if (node.tag !== undefined) addProblem(state, line, `the YAML tag ${node.tag}`);
  const anchor = (node as { anchor?: string }).anchor;
  if (anchor === undefined) return convertValue(node, depth, state);
  if (!/^[\w-]+$/.test(anchor)) addProblem(state, line, `the anchor &${anchor}, which compose cannot read`);
  if (state.anchors.has(anchor)) addProblem(state, line, `the anchor &${anchor} a second time`);
  state.anchors.set(anchor, null);
  const converted = convertValue(node, depth, state);
  state.anchors.set(anchor, converted);
  return converted;
}

function convertValue(node: Node, depth: number, state: ParseState): ComposeNode {
  const line = lineOf(node, state);
  if (isMap(node)) return convertMapping(node as YAMLMap<Node | null, Node | null>, depth, state);
  if (isSeq(node)) {
    if (node.flow === true) validateFlowItems(node.items as Node[], state);
    return { kind: 'list', items: node.items.map((item) => convertNode(item as Node, depth + 1, state)), line };
  }
  const { value, type, srcToken } = isScalar(node) ? node : {};
  const source = type === 'QUOTE_DOUBLE' && srcToken && 'source' in srcToken ? srcToken.source : '';
  if (/\\u[dD][89a-fA-F]/.test(source))
    addProblem(state, line, 'half a character behind an escape, which compose cannot read');
  const text = typeof value === 'string' ? value : '';
  const isPlain = type === 'PLAIN';
  return {
    ...{ kind: 'scalar', text, isNull: isPlain && /^(~|null|Null|NULL|)$/.test(text), line },
    ...(!isPlain && { isQuoted: true }),
  };
}

function convertMapping(node: YAMLMap<Node | null, Node | null>, depth: number, state: ParseState): Mapping {
  const entries = new Map<string, ComposeNode>();
  let merged: ComposeNode | null = null;
  for (const pair of node.items) {
    const key = keyOf(pair, state);
    const line = lineOf(pair.key ?? node, state);
    validatePair(pair, node.flow === true, state);
    const value = { ...convertNode(pair.value, depth + 1, state), line };
    if (key === '<<' ? merged !== null : entries.has(key)) addProblem(state, line, `the key ${key} a second time`);
    if (key === '<<') merged = value;
    else entries.set(key, value);
  }
  if (merged !== null) applyMerge(entries, merged, state);
  return { kind: 'map', entries, line: lineOf(node, state) };
}

/** Refuses spellings of a key that compose's parser reads differently or cannot read. */
function validatePair(pair: Pair<Node | null, Node | null>, isFlow: boolean, state: ParseState): void {
  const { key, value, srcToken } = pair;
  const line = lineOf(key, state);
  const isExplicit = srcToken?.start.some(({ type }) => type === 'explicit-key-ind');
  if (isExplicit === true) addProblem(state, line, 'a key behind a question mark');
  if (!isFlow) return;
  const lacksSpace = isScalar(key) && key.type === 'PLAIN' && srcToken?.sep?.length === 1;
  if (lacksSpace) addProblem(state, line, `the key ${String(key.value)} without a space behind its colon`);
  validateFlowItems([key, value], state);
}

/** In flow style compose's parser reads an unquoted `?` or a leading `:` as part of a key. */
function validateFlowItems(nodes: readonly (Node | null)[], state: ParseState): void {
  for (const node of nodes) {
    const isAmbiguous = isScalar(node) && node.type === 'PLAIN' && /\?|^:/.test(String(node.value));
    if (isAmbiguous) addProblem(state, lineOf(node, state), 'an unquoted ? or leading : between brackets');
  }
}

/** Keys that YAML reads as another type than text; compose cannot read them. */
const nonTextKey = /^(~|null|true|false|[-+]?(\.?\d[\d_.]*(e[-+]?\d+)?|0x[\da-f_]+|0o[0-7_]+|\.inf)|\.nan|)$/i;

function keyOf({ key }: Pair<Node | null, Node | null>, state: ParseState): string {
  const line = lineOf(key, state);
  if (!isScalar(key) || typeof key.value !== 'string' || key.anchor !== undefined || key.tag !== undefined) {
    addProblem(state, line, 'a key that is not plain text');
    return '';
  }
  const isPlain = key.type === 'PLAIN';
  if (isPlain ? nonTextKey.test(key.value) : key.value === '<<')
    addProblem(state, line, `the key ${key.value} is not text`);
  return key.value;
}

/** The mapping's own keys take precedence over merged ones, and an earlier merge over a later one. */
function applyMerge(entries: Map<string, ComposeNode>, from: ComposeNode, state: ParseState): void {
  if (exceedsSize(state, { nodes: 0, characters: 0, depth: 0 }, from.line)) return;
  for (const source of from.kind === 'list' ? from.items : [from]) {
    if (source.kind !== 'map') addProblem(state, from.line, 'a merge of something that is not a mapping');
    else if (!exceedsSize(state, documentSizeOf(source), from.line)) {
      for (const [key, value] of source.entries) if (!entries.has(key)) entries.set(key, value);
    }
  }
}

function resolveAlias(name: string, { depth, line }: { depth: number; line: number }, state: ParseState): ComposeNode {
  const target = state.anchors.get(name);
  if (!target) {
    addProblem(state, line, `the alias *${name} points nowhere or into itself`);
    return nullNode(line);
  }
  const size = documentSizeOf(target);
  const isOver = exceedsSize(state, { ...size, depth: depth + size.depth }, line);
  return isOver ? nullNode(line) : { ...target, line };
}

/** Counts the next value or copy; true when a limit is exceeded. The file gets this problem only once. */
function exceedsSize(state: ParseState, more: DocumentSize, line: number): boolean {
  const before = exceededLimitOf({ nodes: state.nodes, characters: state.characters, depth: 0 });
  state.nodes += more.nodes;
  state.characters += more.characters;
  const excess = before ?? exceededLimitOf({ nodes: state.nodes, characters: state.characters, depth: more.depth });
  if (before === null && excess !== null) addSizeProblem(state, line, excess);
  return excess !== null;
}

function nullNode(line: number): ComposeNode {
  return { kind: 'scalar', text: '', isNull: true, line };
}

function lineOf(node: Node | null, state: ParseState): number {
  return lineAt(node?.range?.[0] ?? 0, state);
}

function lineAt(offset: number, state: ParseState): number {
  return Math.max(1, state.lines.linePos(offset).line);
}

function addProblem(state: ParseState, line: number, message: string): void {
  pushProblem(state, { line, message, cure: 'write it in plain YAML that every parser reads alike' });
}

function addSizeProblem(state: ParseState, line: number, message: string): void {
  pushProblem(state, { line, message, cure: 'make it smaller, or divide the bundle' });
}

function pushProblem(state: ParseState, problem: { line: number; message: string; cure: string }): void {
  const { line, message, cure } = problem;
  if (state.problems.length < maxProblems)
    state.problems.push({ text: `${printable(message)} (${printable(state.path)}:${line})`, cure });
}
