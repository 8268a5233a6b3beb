import { textParts, type TextVariable } from '../compose/document/interpolation.ts';

/** The value of a variable: null when it is not set. */
export type ValueOf = (name: string) => string | null;

/**
 * A text with its variables replaced as compose does, `$$` kept. A needed variable without a value, and what compose
 * cannot read, make it null.
 */
export function interpolate(text: string, valueOf: ValueOf): string | null {
  return rewriteVariables(text, (variable) => {
    const value = resolveVariable(variable, valueOf);
    return value?.replaceAll('$', '$$$$') ?? null;
  });
}

/** The value of a variable with its default or alternative; null when there is none. */
export function resolveVariable({ name, operator, inner }: TextVariable, valueOf: ValueOf): string | null {
  const value = valueOf(name);
  const isSet = value !== null && (value !== '' || !operator.startsWith(':'));
  if (operator.endsWith('+')) return isSet ? literalOf(inner, valueOf) : '';
  if (isSet) return value;
  return operator.endsWith('-') ? literalOf(inner, valueOf) : null;
}

/** A text with each variable replaced by another text; null from `rewrite`, and what compose cannot read, make it null. */
export function rewriteVariables(text: string, rewrite: (variable: TextVariable) => string | null): string | null {
  if (!text.includes('$')) return text;
  const parts = textParts(text).map((part) => (part === null || typeof part === 'string' ? part : rewrite(part)));
  return parts.includes(null) ? null : parts.join('');
}

/** A text without variables, as it is read: `$$` stands for a dollar sign. */
export function unescapeDollars(text: string): string {
  return text.replaceAll('$$', '$');
}

function literalOf(text: string, valueOf: ValueOf): string | null {
  const found = interpolate(text, valueOf);
  return found === null ? null : unescapeDollars(found);
}
