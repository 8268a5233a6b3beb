import { isObject } from '../protocol/jsonFields.ts';
import { leafOf, sectionOf, type KeyTable } from './keyTable.ts';

type Values = Readonly<Record<string, unknown>>;

/** The configuration file's values with the defaults of missing keys. A section that is no map is kept, for validation. */
export function mergeDefaults(table: KeyTable, values: Values): Record<string, unknown> {
  const defaults = (section: string) => defaultsOf(table, section, values);
  const merged: Record<string, unknown> = { ...defaults(''), ...values };
  for (const section of table.sections) {
    const own = values[section] ?? {};
    merged[section] = isObject(own) ? { ...defaults(section), ...own } : own;
  }
  return merged;
}

function defaultsOf({ names, keys }: KeyTable, section: string, values: Values): Record<string, unknown> {
  const valueOf = (key: string) => values[key] ?? keys[key]?.default;
  const own = names.filter((key) => sectionOf(key) === section && keys[key]?.default !== undefined);
  return Object.fromEntries(own.map((key) => [leafOf(key), expand(keys[key]?.default, valueOf)]));
}

/** `<key>` becomes the value of that key where it is a text. */
function expand(value: unknown, valueOf: (key: string) => unknown): unknown {
  if (typeof value !== 'string') return value;
  return value.replaceAll(/<(\w+)>/g, (text, key: string) => {
    const named = valueOf(key);
    return typeof named === 'string' ? named : text;
  });
}
