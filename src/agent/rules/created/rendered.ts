/** A mapping of compose's rendered model (`compose config --format json`). */
export type Part = Readonly<Record<string, unknown>>;

/** A text, number or boolean as text, with each dollar sign once: a rendered model doubles them. Anything else is empty. */
export function textOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value.replaceAll('$$', '$') : '';
}

/** The texts of a list, none where there is no list. */
export function textsOf(value: unknown): string[] {
  return listOf(value).map(textOf);
}

/** A list, empty where there is none. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A mapping, empty where there is none. */
export function partOf(value: unknown): Part {
  return typeof value === 'object' && value !== null ? (value as Part) : {};
}

/** The engine's name of a network or volume. */
export function nameOf(root: Part, key: string, part: unknown): string {
  return textOf(partOf(part)['name']) || `${textOf(root['name'])}_${key}`;
}
