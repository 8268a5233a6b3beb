import { encodingFault, printable } from '../../core/text.rules.ts';
import { type ComposeFile, type ComposeNode, type Mapping, maxCharacters } from './composeNode.rules.ts';

/** One occurrence of a variable; `required` when it has no default and no alternative. */
export interface VariableUse {
  name: string;
  required: boolean;
}

/** Compose matches names case-insensitively, so ſ and the Kelvin sign are letters too. */
const nameLetter = 'A-Za-z_\u017f\u212a';
const variableName = `[${nameLetter}][${nameLetter}0-9]*`;
const variablePattern = new RegExp(
  [
    String.raw`\$\$`,
    String.raw`\$(?<named>${variableName})`,
    String.raw`\$\{(?<braced>${variableName})(?:(?<operator>:?[-?+])[^\n]*)?\}`,
    String.raw`(?<malformed>\$\{)`,
  ].join('|'),
  'g',
);

/** Compose's time for a line grows with its length times its variables. */
export const maxVariablesPerLine = 100;

/**
 * Every variable of a text in compose's grammar, including those nested in defaults and alternatives; `error` when
 * compose would refuse the text.
 */
export function variablesOf(text: string): { uses: VariableUse[]; error?: string } {
  if (!text.includes('$')) return { uses: [] };
  const hasTooMany = text.split('\n').some((line) => line.split('${').length > maxVariablesPerLine + 1);
  if (hasTooMany)
    return { uses: [], error: `more than ${maxVariablesPerLine} variables on a line of ${printable(text)}` };
  const found = variableUsesOf(text);
  const uses = found.filter((use) => use !== null);
  return found.includes(null) ? { uses, error: `malformed variable in ${printable(text)}` } : { uses };
}

/** A variable as written (`${NAME:-other}`): its operator and what stands behind that; both empty for `$NAME`. */
export interface TextVariable {
  name: string;
  operator: string;
  inner: string;
  source: string;
}

/** A text in parts, in their order: text that compose keeps unchanged (`$$` too), variables, and null for a malformed one. */
export type TextPart = string | TextVariable | null;

/**
 * Parses as compose does: a variable with an operator extends to the last brace of its line, and is then shortened to
 * where its braces balance. The part after it is parsed as a separate text.
 */
export function textParts(text: string): TextPart[] {
  let at = 0;
  const parts = [...text.matchAll(variablePattern)].flatMap(({ 0: source, index, groups = {} }): TextPart[] => {
    const before = text.slice(at, index);
    at = index + source.length;
    return before === '' ? variableParts(source, groups) : [before, ...variableParts(source, groups)];
  });
  return at < text.length ? [...parts, text.slice(at)] : parts;
}

function variableParts(source: string, groups: Readonly<Record<string, string | undefined>>): TextPart[] {
  const { named, braced, operator = '', malformed } = groups;
  if (malformed !== undefined) return [null];
  if (named !== undefined) return [{ name: named, operator, inner: '', source }];
  if (braced === undefined) return [source];
  const end = closingBraceOf(source);
  const inner = source.slice(2 + braced.length + operator.length, end);
  return [{ name: braced, operator, inner, source: source.slice(0, end + 1) }, ...textParts(source.slice(end + 1))];
}

/** Null marks a malformed variable. */
function variableUsesOf(text: string): (VariableUse | null)[] {
  return textParts(text).flatMap((part) => {
    if (part === null) return [null];
    if (typeof part === 'string') return [];
    return [{ name: part.name, required: !/[-+]/.test(part.operator) }, ...variableUsesOf(part.inner)];
  });
}

/**
 * Where the braces of a variable balance for compose, which skips the character after an opening one; else the last
 * index.
 */
function closingBraceOf(variable: string): number {
  let open = 0;
  for (const { 0: brace, index } of variable.matchAll(/\{[^]|\}/g)) {
    open += brace === '}' ? -1 : 1;
    if (open === 0) return index;
  }
  return variable.length - 1;
}

/**
 * The text with the values of its variables, as compose would read it with every dollar sign of a value doubled. Null
 * if it uses another variable, or one that compose would refuse.
 */
export function interpolate(text: string, values: Readonly<Record<string, string>>): string | null {
  const { uses, error } = variablesOf(text);
  if (error !== undefined || !uses.every(({ name }) => Object.hasOwn(values, name))) return null;
  return interpolateKnown(text, values);
}

function interpolateKnown(text: string, values: Readonly<Record<string, string>>): string | null {
  const parts: (string | null)[] = [];
  let end = 0;
  for (const { 0: variable, index, groups = {} } of text.matchAll(variablePattern)) {
    parts.push(text.slice(end, index), valueOf(variable, groups, values));
    end = index + variable.length;
  }
  return parts.includes(null) ? null : [...parts, text.slice(end)].join('');
}

/** The replacement of one match of `variablePattern`; null if compose would refuse it. */
function valueOf(
  variable: string,
  { named, braced, operator = '' }: Partial<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): string | null {
  const name = named ?? braced;
  if (name === undefined) return variable;
  const value = (values[name] ?? '').replaceAll('$', '$$$$');
  if (named !== undefined) return value;
  const end = closingBraceOf(variable);
  const inner = interpolateKnown(variable.slice(2 + name.length + operator.length, end), values);
  const rest = interpolateKnown(variable.slice(end + 1), values);
  if (inner === null || rest === null) return null;
  const isSet = !operator.startsWith(':') || value !== '';
  if (operator.endsWith('?') && !isSet) return null;
  const [whenSet, otherwise] = operator.endsWith('+') ? [inner, ''] : [value, inner];
  return `${isSet ? whenSet : otherwise}${rest}`;
}

/** Values by the names of their variables. */
type Values = Readonly<Record<string, string>>;

/** Longest text that is filled in: nothing that could be a privilege is longer. */
const maxFilledCharacters = 4096;
/** A part of the permitted size of a bundle's compose files, so that its values alone never make them too long. */
const maxAllCharacters = maxCharacters / 4;

/**
 * The file with the values in all texts that use these variables alone, as compose will read them from `.env`. A text
 * stays as written if it uses another variable, such as a secret. It also stays if it is long or contains control
 * characters, as only free text may, and once the values make up too many characters.
 */
export function withManifestVariables({ path, root }: ComposeFile, values: Values): ComposeFile {
  const rest = { characters: maxAllCharacters };
  const fill = (node: ComposeNode): ComposeNode => {
    if (node.kind === 'list') return { ...node, items: node.items.map(fill) };
    if (node.kind === 'map') return fillMapping(node, fill);
    const text = node.text.includes('$') && rest.characters > 0 ? interpolate(node.text, values) : null;
    if (text === null || text.length > maxFilledCharacters || /\p{C}/u.test(text)) return node;
    rest.characters -= text.length;
    return { ...node, text };
  };
  return Object.keys(values).length === 0 ? { path, root } : { path, root: fillMapping(root, fill) };
}

function fillMapping(node: Mapping, fill: (node: ComposeNode) => ComposeNode): Mapping {
  return { ...node, entries: new Map([...node.entries].map(([key, value]) => [key, fill(value)])) };
}

/** One assignment of an env file; `template` is its value before compose replaces variables, with `$$` for a literal `$`. */
export interface EnvAssignment {
  name: string;
  template: string;
}

/** Which characters of a text are refused in env files and label files. */
export function characterFault(text: string): string | null {
  const isControl = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;
  return encodingFault(text) ?? (isControl.test(text) ? 'has a control character' : null);
}

/**
 * The assignments of an env file up to the first line that versions of compose read differently, which is the `fault`.
 * A name without `=` is such a fault: compose would take its value from its own environment. `rest` begins with that line.
 */
export function parseEnvAssignments(text: string): { lines: EnvAssignment[]; fault?: string; rest?: string } {
  const lines: EnvAssignment[] = [];
  const character = characterFault(text);
  if (character !== null) return { lines, fault: character };
  const statement = new RegExp(
    `${blankLine}|${assignmentStart}(?:${doubleQuotedValue}|${singleQuotedValue}|${unquotedValue})`,
    'y',
  );
  for (let at = 0; at < text.length; at = statement.lastIndex) {
    statement.lastIndex = at;
    const match = statement.exec(text);
    if (match === null)
      return { lines, fault: `has a line ${lineNumberAt(text, at)} that is not NAME=VALUE`, rest: text.slice(at) };
    const { name, double, single, plain = '' } = match.groups ?? {};
    const literal = single?.replaceAll('$', '$$$$');
    if (name !== undefined)
      lines.push({ name, template: literal ?? (double === undefined ? withoutComment(plain) : unescaped(double)) });
  }
  return { lines };
}

/** Lines that cannot be read, behind which nothing is. */
const maxUnread = 100;

/** Reads an env file line by line; lines that are not `NAME=VALUE`, which may contain a secret, are counted. */
export function readEnvFile(text: string): { assignments: EnvAssignment[]; unread: number } {
  const read = { assignments: [] as EnvAssignment[], unread: 0 };
  for (let left: string | undefined = text.replace(/^\ufeff/, ''); left !== undefined;) {
    const { lines, fault, rest } = parseEnvAssignments(left);
    read.assignments.push(...lines);
    if (fault !== undefined) read.unread++;
    const next = read.unread > maxUnread ? -1 : (rest?.indexOf('\n') ?? -1);
    left = next < 0 ? undefined : rest?.slice(next + 1);
  }
  return read;
}

/** The values of an env file; a variable in one has the value of an earlier line, or is empty. */
export function envValues(assignments: readonly EnvAssignment[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const { name, template } of assignments) {
    const used = variablesOf(template).uses.map((use): [string, string] => [use.name, values.get(use.name) ?? '']);
    const value = interpolate(template, Object.fromEntries(used));
    if (value !== null) values.set(name, value.replaceAll('$$', '$'));
  }
  return values;
}

/** The fault of an env file with `format: raw`: names, and any text after `=`. */
export function rawEnvFault(text: string): string | null {
  const character = characterFault(text);
  if (character !== null) return character;
  const at = text.split('\n').findIndex((line) => !/^[ \t\r]*(#.*|[A-Za-z_][\w.-]*=.*)?$/.test(line));
  return at < 0 ? null : `has a line ${at + 1} that is not NAME=VALUE`;
}

const lineEnd = String.raw`[ \t]*\r?(?:\n|$)`;
const blankLine = String.raw`[ \t]*(?:#[^\n]*)?\r?(?:\n|$)`;
const assignmentStart = String.raw`[ \t]*(?:export[ \t]+)?(?<name>\w[\w.[\]-]*)[ \t]*[=:][ \t]*`;
/** Compose keeps a backslash before other characters; octal escapes could produce a variable, and others control characters. */
const doubleQuotedValue = String.raw`"(?<double>(?:[^"\\]|\\[^abcfv0\r\n])*)"(?:[ \t]+#[^\n]*)?${lineEnd}`;
const singleQuotedValue = String.raw`'(?<single>[^'\\]*)'(?:[ \t]+#[^\n]*)?${lineEnd}`;
/** Compose skips blanks before a quote, a no-break space too. */
const unquotedValue = String.raw`(?![ \t]*["'\u00a0])(?<plain>[^\n]*)(?:\n|$)`;

/** An unquoted value ends with the line, or before a `#` that follows a blank. */
function withoutComment(line: string): string {
  const [value = ''] = line.split(/[ \t]#/, 1);
  return value.trimEnd();
}

/** `\$` is a literal dollar sign, so it becomes `$$`. */
function unescaped(text: string): string {
  const characters: Readonly<Record<string, string>> = { $: '$$', n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };
  return text.replace(/\\(.)/gu, (written, escaped: string) => characters[escaped] ?? written);
}

function lineNumberAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}
