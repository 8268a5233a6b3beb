import type { ErrorObject, ValidateFunction } from 'ajv';
import { parseCertificate, pemCertificatesIn } from '../certificateAuthorities.ts';
import { readRegularFile } from '../files.ts';
import { isObject } from '../json.rules.ts';
import { closestMatch } from '../text.rules.ts';
import { type KeyOrder, orderDefaults, orderProblems } from './combinations.ts';
import {
  ConfigInvalid,
  type ConfigKey,
  type ConfigProblem,
  emptyGuards,
  type KeyProblem,
  type KeyTable,
  leafOf,
  mergeDefaults,
  sectionOf,
} from './keyTable.ts';
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

/** The differences between kinds of configuration files. */
interface ConfigFormat extends ConfigKeys {
  /** A first line, such as `env: eu-1`. */
  example: string;
  /** The users who may read it, and so must run the program; without it, another file must be named. */
  readers?: string;
  /** How another file is named: `with --config`. */
  naming: string;
  /** Keys that must be in an order; none by default. */
  orders?: readonly KeyOrder[];
}

/** A configuration file whose keys have been validated, each by itself. */
export interface ConfigFile<Settings> {
  /** JSON pointers of the values that the file itself has, with their lines. */
  lines: YamlSource['lines'];
  /** The top-level settings without a problem, so that a rule over several settings sees no invalid one. */
  valid: Partial<Settings>;
  /** The settings; throws ConfigInvalid with the problems of single keys and these others. */
  settingsUnless: (otherProblems: readonly KeyProblem[]) => Settings;
}

/** Reads a configuration file; throws ConfigInvalid if it holds no keys at all. */
export function readConfigFile<Settings>(path: string, format: ConfigFormat): ConfigFile<Settings> {
  const source = parseYamlSource(readText(path, format));
  if (source.values === undefined) throw new ConfigInvalid(path, source.problems);
  const values = source.values ?? {};
  if (!isObject(values))
    throw new ConfigInvalid(path, [{ line: 1, key: '', message: `must hold keys, such as \`${format.example}\`` }]);

  const { orders = [] } = format;
  const isGiven = (key: string) => source.lines.has(pointerOf(key));
  const merged = orderDefaults(orders, mergeDefaults(format.table, values), isGiven);
  const emptyKeys = emptyGuards(format.table, values).map((key) => {
    const message = `is empty; ${formatAllowed(format.table, key)}, or be left out`;
    return { line: lineOf(source.lines, pointerOf(key)), key, message };
  });
  const keyProblems = firstOfEach([...emptyKeys, ...validateKeys(format, merged, source)]);
  const settingsUnless = (otherProblems: readonly KeyProblem[]) => {
    const ordered = orderProblems(orders, validPart(merged, keyProblems), isGiven);
    const located = [...otherProblems, ...ordered].map((each) => ({
      ...each,
      line: lineOf(source.lines, pointerOf(each.key)),
    }));
    const problems = [...source.problems, ...keyProblems, ...located];
    if (problems.length > 0) throw new ConfigInvalid(path, problems, validPart(merged, problems));
    return merged as Settings;
  };
  return { lines: source.lines, valid: validPart(merged, keyProblems) as Partial<Settings>, settingsUnless };
}

/** The JSON pointer of a known key, whose names have neither dots nor slashes. */
function pointerOf(key: string): string {
  return `/${key.replaceAll('.', '/')}`;
}

/** Freezes a value with everything in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

function readText(path: string, { naming, readers = `name another ${naming}` }: ConfigFormat): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readRegularFile(path));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const readErrors: Record<string, string> = {
      EACCES: `is not readable by this user; ${readers}`,
      ENOENT: `does not exist; write it, or name another file ${naming}`,
      EISDIR: `is a directory; name a file ${naming}`,
      ENOTREG: `is not a regular file; name one ${naming}`,
      ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
    };
    throw new ConfigInvalid(path, [{ line: null, key: '', message: readErrors[code] ?? `cannot be read (${code})` }]);
  }
}

function validPart(merged: Record<string, unknown>, problems: readonly ConfigProblem[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(merged).filter(([key]) => problems.every((problem) => problem.key.split('.')[0] !== key)),
  );
}

/** Status of a PEM file of certificates; `unreadable` carries the error code. */
type CertificateFileStatus = 'good' | 'missing' | 'not PEM' | `unreadable (${string})`;

/** Checks a file of certificates: it needs at least one, and every PEM block must be one. No file is good, too. */
export function inspectCertificateFile(path: string | null | undefined): CertificateFileStatus {
  if (!path) return 'good';
  try {
    return isPem(readRegularFile(path).toString('latin1')) ? 'good' : 'not PEM';
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'missing' : `unreadable (${code})`;
  }
}

/** The problem of a key whose value is such a file, if there is one. */
export function certificateProblems(
  key: string,
  path: string | null | undefined,
  status = inspectCertificateFile(path),
): KeyProblem[] {
  return status === 'good' ? [] : [{ key, message: `must be a readable PEM file; ${path ?? ''} is ${status}` }];
}

function isPem(text: string): boolean {
  const blocks = pemCertificatesIn(text);
  return blocks.length > 0 && blocks.every((block) => parseCertificate(block) !== null);
}

/** The keys of a configuration file, and their compiled validator. */
interface ConfigKeys {
  table: KeyTable;
  validate: ValidateFunction;
}

/** One problem for each key of the merged configuration that is missing, unknown or of the wrong type. */
export function validateKeys(
  { table, validate }: ConfigKeys,
  merged: Record<string, unknown>,
  { lines }: Pick<YamlSource, 'lines'>,
): ConfigProblem[] {
  validate(merged);
  const problems = (validate.errors ?? []).map((error): ConfigProblem => {
    const pointer = pointerOfError(error);
    const key = dottedKeyOf(pointer);
    const message = formatError(table, error.keyword, { key, value: valueAt(merged, error.instancePath) });
    return { line: lineOf(lines, pointer), key, message };
  });
  return firstOfEach(problems);
}

function firstOfEach(problems: readonly ConfigProblem[]): ConfigProblem[] {
  return problems.filter(({ key }, index) => problems.findIndex((other) => other.key === key) === index);
}

function pointerOfError({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  const name = missingProperty ?? additionalProperty;
  return name === undefined ? instancePath : `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The value at the path of a known key. */
function valueAt(merged: unknown, path: string): unknown {
  const parts = path.split('/').slice(1);
  return parts.reduce((value, part) => (value as Record<string, unknown>)[part], merged);
}

function formatError(table: KeyTable, keyword: string, { key, value }: { key: string; value: unknown }): string {
  const allowed = formatAllowed(table, key);
  if (keyword === 'additionalProperties') {
    const container = table.names.find((known) => key.startsWith(`${known}.`));
    return container === undefined
      ? `unknown key; the nearest known key is ${suggestKey(table, key)}`
      : `unknown key; ${container} must be ${table.keys[container]?.allowed}`;
  }
  if (keyword === 'required') return `is required; ${allowed}`;
  return needsQuotes(value, configKeyOf(table, key)) ? `${allowed}; put it in quotes` : allowed;
}

/** True when YAML parsed a number or boolean, and the same text in quotes would be valid. */
function needsQuotes(value: unknown, key: ConfigKey | undefined): boolean {
  const { pattern, anyOf } = (key?.schema ?? {}) as { pattern?: string; anyOf?: { pattern?: string }[] };
  const form = pattern ?? anyOf?.[0]?.pattern;
  const isBare = typeof value === 'number' || typeof value === 'boolean';
  return isBare && form !== undefined && new RegExp(form, 'u').test(String(value));
}

function suggestKey({ names, sections }: KeyTable, key: string): string {
  const near = closestMatch(leafOf(key), [names[0], ...names.map(leafOf), ...sections]);
  const same = names.filter((name) => leafOf(name) === near);
  const known = same.find((name) => sectionOf(name) === sectionOf(key)) ?? same[0];
  const section = known && sectionOf(known);
  return section ? `${near} under ${section}` : near;
}

function formatAllowed(table: KeyTable, key: string): string {
  const inside = table.names.filter((known) => sectionOf(known) === key).map(leafOf);
  if (inside.length > 0) return `must be a section with keys of ${inside.join(', ')}`;
  return `must be ${allowedOf(table, key) ?? 'something else'}`;
}

/** The allowed values of a key, or of the part of its mapping, or of a mapping in its list, that contains the value. */
function allowedOf({ names, keys }: KeyTable, key: string): string | undefined {
  const name = nameOf(names, key);
  if (name === undefined) return undefined;
  const [part = ''] = key
    .slice(name.length + 1)
    .replace(/^\d+\./, '')
    .split('.');
  return keys[name]?.parts?.[part] ?? keys[name]?.allowed;
}

/** The definition of a key, or of the list that contains an item such as `disk.paths.0`. */
function configKeyOf({ names, keys }: KeyTable, key: string): ConfigKey | undefined {
  const name = nameOf(names, key);
  return name === undefined ? undefined : keys[name];
}

function nameOf(names: KeyTable['names'], key: string): string | undefined {
  return names.find((known) => key === known || key.startsWith(`${known}.`));
}

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
