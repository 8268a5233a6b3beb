import { isObject } from '../json.rules.ts';
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

type Values = Readonly<Record<string, unknown>>;

/** The configuration file's values with the defaults of missing keys. A section that is not a map is kept, for validation. */
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

/** One problem of the configuration; `line` counts from 1 and is null when no line is at fault. */
export interface ConfigProblem {
  line: number | null;
  /** Dotted key, empty for the whole file. */
  key: string;
  /** The allowed values, or what to do. */
  message: string;
}

/** A problem whose line is not known yet. */
export type KeyProblem = Omit<ConfigProblem, 'line'>;

/** The configuration is invalid: one line per problem, in the order of the file (spec §6, §8: exit 78). */
export class ConfigInvalid extends Error {
  override readonly name = 'ConfigInvalid';
  readonly lines: string[];
  /** Every setting without a problem, defaults included. */
  readonly validSettings: Readonly<Record<string, unknown>>;

  constructor(path: string, problems: readonly ConfigProblem[], validSettings: Record<string, unknown> = {}) {
    const lines = problems.toSorted(byLine).map((problem) => `CONFIG_INVALID: ${formatProblem(path, problem)}`);
    super(lines[0]);
    this.lines = lines;
    this.validSettings = validSettings;
  }
}

function byLine(a: ConfigProblem, b: ConfigProblem): number {
  return (a.line ?? Number.MAX_SAFE_INTEGER) - (b.line ?? Number.MAX_SAFE_INTEGER);
}

function formatProblem(path: string, { line, key, message: text }: ConfigProblem): string {
  return [line === null ? path : `${path}:${line}`, ...(key === '' ? [] : [key]), text].join(': ');
}
