import type { ErrorObject } from 'ajv';
import type { ConfigProblem } from './configInvalid.ts';
import { closestMatch } from './closestMatch.ts';
import { configKeyNames, configKeys, leafOf, sectionOf, configSections, type ConfigKey } from './configKeys.ts';
import { validate } from './configValidator.ts';
import { dottedKeyOf, lineOf, type YamlSource } from './yamlSource.ts';

/** One problem for each key of the merged configuration that is missing, unknown or of the wrong type. */
export function validateKeys(merged: Record<string, unknown>, { lines }: Pick<YamlSource, 'lines'>): ConfigProblem[] {
  validate(merged);
  const problems = (validate.errors ?? []).map((error: ErrorObject): ConfigProblem => {
    const pointer = pointerOf(error);
    return {
      line: lineOf(lines, pointer),
      key: dottedKeyOf(pointer),
      message: formatSchemaError(error, dottedKeyOf(pointer)),
    };
  });
  return problems.filter(({ key }, index) => problems.findIndex((other) => other.key === key) === index);
}

function pointerOf({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  const name = missingProperty ?? additionalProperty;
  return name === undefined ? instancePath : `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function formatSchemaError({ keyword, data }: ErrorObject, key: string): string {
  if (keyword === 'additionalProperties') return `unknown key; the nearest known key is ${suggestKey(key)}`;
  if (keyword === 'required') return `is required; ${formatAllowed(key)}`;
  return needsQuotes(data, configKeyOf(key)) ? `${formatAllowed(key)}; put it in quotes` : formatAllowed(key);
}

/** True when YAML parsed a number or boolean, and the same text in quotes would be valid. */
function needsQuotes(data: unknown, key: ConfigKey | undefined): boolean {
  const pattern = key?.schema['pattern'];
  const isBare = typeof data === 'number' || typeof data === 'boolean';
  return isBare && typeof pattern === 'string' && new RegExp(pattern, 'u').test(String(data));
}

function suggestKey(key: string): string {
  const near = closestMatch(leafOf(key), [configKeyNames[0], ...configKeyNames.map(leafOf), ...configSections]);
  const known = configKeyNames.find((name) => leafOf(name) === near);
  const section = known && sectionOf(known);
  return section ? `${near} under ${section}` : near;
}

function formatAllowed(key: string): string {
  const inside = configKeyNames.filter((known) => sectionOf(known) === key).map(leafOf);
  if (inside.length > 0) return `must be a section with keys of ${inside.join(', ')}`;
  return `must be ${configKeyOf(key)?.allowed ?? 'something else'}`;
}

/** The definition of a key, or of the list that contains an item such as `disk.paths.0`. */
function configKeyOf(key: string): ConfigKey | undefined {
  const name = configKeyNames.find((known) => key === known || key.startsWith(`${known}.`));
  return name && configKeys[name];
}
