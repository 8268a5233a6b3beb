/** One assignment of an env file; `template` is that part of its value in which compose replaces variables. */
export interface EnvLine {
  name: string;
  template: string;
}

/** True for a text with characters that no line of an env file or label file should have. */
export function isControlled(text: string): boolean {
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffd]/.test(text);
}

/**
 * The assignments of an env file, as far as it is one that every compose reads alike; `fault` where it is not. A name alone,
 * which would take its value from compose's own environment, is no assignment.
 */
export function envLinesOf(text: string): { lines: EnvLine[]; fault?: string } {
  const lines: EnvLine[] = [];
  if (isControlled(text)) return { lines, fault: 'has a control character' };
  const statement = new RegExp(`${blank}|${assigned}(?:${doubleQuoted}|${singleQuoted}|${unquoted})`, 'y');
  for (let at = 0; at < text.length; at = statement.lastIndex) {
    statement.lastIndex = at;
    const {
      index,
      0: whole,
      groups: { name, double, single, plain = '' } = {},
    } = statement.exec(text) ?? { index: -1, 0: '' };
    if (index < 0 || whole === '') return { lines, fault: `has a line ${lineAt(text, at)} that is not NAME=VALUE` };
    if (name === undefined || single !== undefined) {
      if (name !== undefined) lines.push({ name, template: '' });
      continue;
    }
    lines.push({ name, template: double === undefined ? plain : unescaped(double) });
  }
  return { lines };
}

/** The same of a file that is taken as it stands (`format: raw`): names, and whatever follows their `=`. */
export function rawFaultOf(text: string): string | null {
  if (isControlled(text)) return 'has a control character';
  const at = text.split('\n').findIndex((line) => !/^[ \t\r]*(#.*|[A-Za-z_][\w.-]*=.*)?$/.test(line));
  return at < 0 ? null : `has a line ${at + 1} that is not NAME=VALUE`;
}

const end = String.raw`[ \t]*\r?(?:\n|$)`;
const blank = String.raw`[ \t]*(?:#[^\n]*)?\r?(?:\n|$)`;
const assigned = String.raw`[ \t]*(?:export[ \t]+)?(?<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*`;
/** Escapes that every compose knows; others, octal ones among them, could make a variable of what looks like none. */
const doubleQuoted = String.raw`"(?<double>(?:[^"\\]|\\[nrt$"\\])*)"(?:[ \t]+#[^\n]*)?${end}`;
const singleQuoted = String.raw`'(?<single>[^'\\]*)'(?:[ \t]+#[^\n]*)?${end}`;
const unquoted = String.raw`(?!["'])(?<plain>[^\n]*?)(?:[ \t]#[^\n]*)?${end}`;

/** `\$` is a dollar sign, as `$$` is. */
function unescaped(text: string): string {
  const characters: Readonly<Record<string, string>> = { $: '$$', n: '\n', r: '\r', t: '\t' };
  return text.replace(/\\(.)/g, (_, escaped: string) => characters[escaped] ?? escaped);
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}
