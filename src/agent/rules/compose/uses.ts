import { printable } from '../../../protocol/printable.ts';

/** One occurrence of a variable; `required` where it has no default and no alternative. */
export interface Use {
  name: string;
  required: boolean;
}

/** ſ and K are letters to compose, which compares without regard to case. */
const letter = 'A-Za-z_\u017f\u212a';
const name = `[${letter}][${letter}0-9]*`;
const token = new RegExp(
  [
    String.raw`\$\$`,
    String.raw`\$(?<named>${name})`,
    String.raw`\$\{(?<braced>${name})(?:(?<operator>:?[-?+])[^\n]*)?\}`,
    String.raw`(?<malformed>\$\{)`,
  ].join('|'),
  'g',
);

/** The time that compose takes for a line grows with its length times its variables. */
export const maxVariables = 100;

/**
 * Every variable of a text by compose's grammar, those nested in defaults and alternatives by their own form;
 * `error` where compose would refuse the text.
 */
export function variablesOf(text: string): { uses: Use[]; error?: string } {
  if (!text.includes('$')) return { uses: [] };
  const isCrowded = text.split('\n').some((line) => line.split('${').length > maxVariables + 1);
  if (isCrowded) return { uses: [], error: `more than ${maxVariables} variables on a line of ${printable(text)}` };
  const found = usesOf(text);
  const uses = found.filter((use) => use !== null);
  return found.includes(null) ? { uses, error: `malformed variable in ${printable(text)}` } : { uses };
}

/**
 * Reads as compose does: a variable with a default or the like reaches to the last brace of its line, or is cut where its
 * own braces balance; what it holds and what was cut off are texts of their own. Null stands for what is no variable.
 */
function usesOf(text: string): (Use | null)[] {
  return [...text.matchAll(token)].flatMap(({ 0: variable, groups = {} }) => {
    const { named, braced, operator = '', malformed } = groups;
    if (malformed !== undefined) return [null];
    if (named !== undefined) return [{ name: named, required: true }];
    if (braced === undefined) return [];
    const end = endOf(variable);
    const [inner, rest] = [variable.slice(2 + braced.length + operator.length, end), variable.slice(end + 1)];
    return [{ name: braced, required: !/[-+]/.test(operator) }, ...usesOf(inner), ...usesOf(rest)];
  });
}

/** Where the braces of a variable balance for compose, which skips what follows an opening one; else at its end. */
function endOf(variable: string): number {
  let open = 0;
  for (const { 0: brace, index } of variable.matchAll(/\{[^]?|\}/g)) {
    open += brace === '}' ? -1 : 1;
    if (open === 0) return index;
  }
  return variable.length - 1;
}
