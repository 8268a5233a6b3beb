import { encodingFault } from '../../../../protocol/textEncoding.ts';

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
