import { printable } from '../../../../protocol/printable.ts';

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

/** A text in parts, in their order: what compose keeps as it is (`$$` too), variables, and null for a malformed one. */
export type TextPart = string | TextVariable | null;

/**
 * Parses as compose does: a variable with an operator extends to the last brace of its line, and is then shortened to
 * where its braces balance. The part after it is parsed as a text of its own.
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
 * The text with the values of its variables, as compose would read it with every dollar sign of a value doubled; null when
 * it uses another variable, or one that compose would refuse.
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

/** What one match of `variablePattern` becomes; null when compose would refuse it. */
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
