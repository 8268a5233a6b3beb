import type { ValueType } from './valueTypes.ts';

/** Every setting as a dotted key; a section is one level deep. */
export type DottedKey<Settings> = {
  [K in keyof Settings & string]: Settings[K] extends readonly unknown[]
    ? K
    : Settings[K] extends object
      ? `${K}.${keyof Settings[K] & string}`
      : K;
}[keyof Settings & string];

/** Definition of one key; a key without `default` is required. */
export interface ConfigKey extends ValueType {
  /** `<key>` in it stands for the value of another key. */
  default?: unknown;
  /** One sentence for the operator. */
  description: string;
}

/** All keys that a configuration file may have. */
export interface KeyTable<Key extends string = string> {
  keys: Readonly<Record<Key, ConfigKey>>;
  /** All dotted keys, in the order in which the documentation lists them. */
  names: readonly [Key, ...Key[]];
  /** Names of the sections, such as `disk`. */
  sections: readonly string[];
}

/** The table of these keys. */
export function keyTableOf<Key extends string>(keys: Readonly<Record<Key, ConfigKey>>): KeyTable<Key> {
  const names = Object.keys(keys) as [Key, ...Key[]];
  return { keys, names, sections: [...new Set(names.filter((key) => key.includes('.')).map(sectionOf))] };
}

/** The section of a dotted key, empty for a top-level key. */
export function sectionOf(key: string): string {
  return key.includes('.') ? key.slice(0, key.indexOf('.')) : '';
}

/** The last part of a dotted key. */
export function leafOf(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1);
}

/** A key that must be given. */
export function required(type: ValueType, description: string): ConfigKey {
  return { ...type, description };
}

/** A key whose default is `value`. */
export function optional(type: ValueType, value: unknown, description: string): ConfigKey {
  return { ...type, default: value, description };
}
