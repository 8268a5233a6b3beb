import type { Static, TSchema } from 'typebox';
import { isObject } from '../json.rules.ts';
import type { ValueType } from './valueTypes.ts';

/** Definition of one key; a key without `default` is required. */
export interface ConfigKey<Schema extends TSchema = TSchema> extends ValueType<Schema> {
  /** `<key>` in it stands for the value of another key. */
  readonly default?: unknown;
  /** One sentence for the operator. */
  readonly description: string;
  /** The key limits what the program trusts or runs, so a file may not leave its value empty. */
  readonly isGuard?: true;
}

/** Definitions by dotted keys; a section is one level deep. */
type Keys = Readonly<Record<string, ConfigKey>>;

/** All keys that a configuration file may have. */
export interface KeyTable<Own extends Keys = Keys> {
  readonly keys: Own;
  /** All dotted keys, in the order in which the documentation lists them. */
  readonly names: readonly [string, ...string[]];
  /** Names of the sections, such as `disk`. */
  readonly sections: readonly string[];
}

/** The settings that a configuration with these keys has. */
export type SettingsOf<Own extends Keys> = {
  readonly [Key in keyof Own as Key extends `${string}.${string}` ? never : Key]: ValueOf<Own[Key]>;
} & {
  readonly [Section in keyof Own as Section extends `${infer Name}.${string}` ? Name : never]: {
    readonly [Key in keyof Own as Key extends `${SectionOf<Section>}.${infer Leaf}` ? Leaf : never]: ValueOf<Own[Key]>;
  };
};

type SectionOf<Key> = Key extends `${infer Name}.${string}` ? Name : never;

type ValueOf<Key extends ConfigKey> = DeepReadonly<Static<Key['schema']>>;

type DeepReadonly<Value> = Value extends object ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> } : Value;

/** The table of these keys. */
export function keyTableOf<Own extends Keys>(keys: Own): KeyTable<Own> {
  const names = Object.keys(keys) as [string, ...string[]];
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

/** The schema of a configuration with these keys, merged with its defaults: of one section, by default of the whole. */
export function schemaOf(table: KeyTable, section = ''): TSchema {
  const own = table.names.filter((key) => sectionOf(key) === section);
  const leaves = own.map((key): [string, TSchema] => [leafOf(key), table.keys[key]?.schema ?? {}]);
  const nested = section === '' ? table.sections.map((inner) => [inner, schemaOf(table, inner)] as const) : [];
  const properties = Object.fromEntries([...leaves, ...nested]);
  return { type: 'object', properties, required: own.map(leafOf), additionalProperties: false };
}

/** A key that must be given. */
export function required<Schema extends TSchema>(type: ValueType<Schema>, description: string): ConfigKey<Schema> {
  return { ...type, description };
}

/** A key whose default is `value`. */
export function optional<Schema extends TSchema>(
  type: ValueType<Schema>,
  value: unknown,
  description: string,
): ConfigKey<Schema> {
  return { ...type, default: value, description };
}

/** The same key as a guard. */
export function guard<Schema extends TSchema>(key: ConfigKey<Schema>): ConfigKey<Schema> {
  return { ...key, isGuard: true };
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

/** The guards, and sections with guards, that a file has without a value. */
export function emptyGuards({ keys, names }: KeyTable, values: Values): string[] {
  const guards = names.filter((key) => keys[key]?.isGuard);
  const sections = new Set(guards.map(sectionOf).filter((section) => values[section] === null));
  const empty = guards.filter((key) => {
    const holder = sectionOf(key) === '' ? values : values[sectionOf(key)];
    return isObject(holder) && holder[leafOf(key)] === null;
  });
  return [...sections, ...empty];
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
