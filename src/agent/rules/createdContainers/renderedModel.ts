/** A mapping of compose's rendered model (`compose config --format json`). */
export type ModelObject = Readonly<Record<string, unknown>>;

/**
 * A string, number or boolean as text, with the doubled dollar signs of a rendered model undone; '' for any other
 * value.
 */
export function textOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value.replaceAll('$$', '$') : '';
}

/** The items of a list as texts; empty for any other value. */
export function textsOf(value: unknown): string[] {
  return listOf(value).map(textOf);
}

/** A list; empty for any other value. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A mapping; empty for any other value. */
export function objectOf(value: unknown): ModelObject {
  return typeof value === 'object' && value !== null ? (value as ModelObject) : {};
}

/** The engine's name of a network or volume. */
export function engineNameOf(root: ModelObject, key: string, part: unknown): string {
  return textOf(objectOf(part)['name']) || `${textOf(root['name'])}_${key}`;
}
