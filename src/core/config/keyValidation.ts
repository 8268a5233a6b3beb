import type { ErrorObject, ValidateFunction } from 'ajv';
import { closestMatch } from '../text.rules.ts';
import { type ConfigKey, type ConfigProblem, type KeyTable, leafOf, sectionOf } from './keyTable.ts';
import { dottedKeyOf, lineOf, type YamlSource } from './yamlSource.ts';

/** The keys of a configuration file, and their compiled validator. */
export interface ConfigKeys {
  table: KeyTable;
  validate: ValidateFunction;
}

/** One problem for each key of the merged configuration that is missing, unknown or of the wrong type. */
export function validateKeys(
  { table, validate }: ConfigKeys,
  merged: Record<string, unknown>,
  { lines }: Pick<YamlSource, 'lines'>,
): ConfigProblem[] {
  validate(merged);
  const problems = (validate.errors ?? []).map((error): ConfigProblem => {
    const pointer = pointerOf(error);
    const key = dottedKeyOf(pointer);
    const message = formatError(table, error.keyword, { key, value: valueAt(merged, error.instancePath) });
    return { line: lineOf(lines, pointer), key, message };
  });
  return problems.filter(({ key }, index) => problems.findIndex((other) => other.key === key) === index);
}

function pointerOf({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  const name = missingProperty ?? additionalProperty;
  return name === undefined ? instancePath : `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The value at the path of a known key. */
function valueAt(merged: unknown, path: string): unknown {
  const parts = path.split('/').slice(1);
  return parts.reduce((value, part) => (value as Record<string, unknown>)[part], merged);
}

function formatError(table: KeyTable, keyword: string, { key, value }: { key: string; value: unknown }): string {
  const allowed = formatAllowed(table, key);
  if (keyword === 'additionalProperties') {
    const container = table.names.find((known) => key.startsWith(`${known}.`));
    return container === undefined
      ? `unknown key; the nearest known key is ${suggestKey(table, key)}`
      : `unknown key; ${container} must be ${table.keys[container]?.allowed}`;
  }
  if (keyword === 'required') return `is required; ${allowed}`;
  return needsQuotes(value, configKeyOf(table, key)) ? `${allowed}; put it in quotes` : allowed;
}

/** True when YAML parsed a number or boolean, and the same text in quotes would be valid. */
function needsQuotes(value: unknown, key: ConfigKey | undefined): boolean {
  const { pattern, anyOf } = (key?.schema ?? {}) as { pattern?: string; anyOf?: { pattern?: string }[] };
  const form = pattern ?? anyOf?.[0]?.pattern;
  const isBare = typeof value === 'number' || typeof value === 'boolean';
  return isBare && form !== undefined && new RegExp(form, 'u').test(String(value));
}

function suggestKey({ names, sections }: KeyTable, key: string): string {
  const near = closestMatch(leafOf(key), [names[0], ...names.map(leafOf), ...sections]);
  const same = names.filter((name) => leafOf(name) === near);
  const known = same.find((name) => sectionOf(name) === sectionOf(key)) ?? same[0];
  const section = known && sectionOf(known);
  return section ? `${near} under ${section}` : near;
}

function formatAllowed(table: KeyTable, key: string): string {
  const inside = table.names.filter((known) => sectionOf(known) === key).map(leafOf);
  if (inside.length > 0) return `must be a section with keys of ${inside.join(', ')}`;
  return `must be ${allowedOf(table, key) ?? 'something else'}`;
}

/** What is allowed for a key, or for the part of its mapping, or of a mapping in its list, that holds the value. */
function allowedOf({ names, keys }: KeyTable, key: string): string | undefined {
  const name = nameOf(names, key);
  if (name === undefined) return undefined;
  const [part = ''] = key
    .slice(name.length + 1)
    .replace(/^\d+\./, '')
    .split('.');
  return keys[name]?.parts?.[part] ?? keys[name]?.allowed;
}

/** The definition of a key, or of the list that contains an item such as `disk.paths.0`. */
function configKeyOf({ names, keys }: KeyTable, key: string): ConfigKey | undefined {
  const name = nameOf(names, key);
  return name === undefined ? undefined : keys[name];
}

function nameOf(names: KeyTable['names'], key: string): string | undefined {
  return names.find((known) => key === known || key.startsWith(`${known}.`));
}
