import type { ErrorObject } from 'ajv';
import type { Flaw } from './invalid.ts';
import { nearest } from './nearest.ts';
import { keyNames, keys, leafOf, sectionOf, sections, type Key } from './schema.ts';
import { validate } from './shapeValidator.ts';
import { dotted, lineOf, type Written } from './written.ts';

/** Every key of the merged configuration that is missing, unknown or not of its kind. */
export function judgeShape(merged: Record<string, unknown>, { lines }: Pick<Written, 'lines'>): Flaw[] {
  validate(merged);
  const flaws = (validate.errors ?? []).map((error: ErrorObject): Flaw => {
    const pointer = pointerOf(error);
    return { line: lineOf(lines, pointer), key: dotted(pointer), text: textOf(error, dotted(pointer)) };
  });
  return flaws.filter(({ key }, index) => flaws.findIndex((other) => other.key === key) === index);
}

function pointerOf({ instancePath, params }: ErrorObject): string {
  const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
  const name = missingProperty ?? additionalProperty;
  return name === undefined ? instancePath : `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function textOf({ keyword, data }: ErrorObject, key: string): string {
  if (keyword === 'additionalProperties') return `unknown key; the nearest known key is ${nearestKey(key)}`;
  if (keyword === 'required') return `is required; ${mustBe(key)}`;
  return isUnquoted(data, keyOf(key)) ? `${mustBe(key)}; put it in quotes` : mustBe(key);
}

/** Whether YAML read a number or a word such as `true` where the same text in quotes would do. */
function isUnquoted(data: unknown, key: Key | undefined): boolean {
  const pattern = key?.schema['pattern'];
  const isBare = typeof data === 'number' || typeof data === 'boolean';
  return isBare && typeof pattern === 'string' && new RegExp(pattern, 'u').test(String(data));
}

function nearestKey(key: string): string {
  const near = nearest(leafOf(key), [keyNames[0], ...keyNames.map(leafOf), ...sections]);
  const section = sectionOf(keyNames.find((known) => leafOf(known) === near) ?? '');
  return section === '' ? near : `${near} under ${section}`;
}

function mustBe(key: string): string {
  const inside = keyNames.filter((known) => sectionOf(known) === key).map(leafOf);
  if (inside.length > 0) return `must be a section with keys of ${inside.join(', ')}`;
  return `must be ${keyOf(key)?.allowed ?? 'something else'}`;
}

/** The row of a key, or of the list that an item such as `disk.paths.0` stands in. */
function keyOf(key: string): Key | undefined {
  const name = keyNames.find((known) => key === known || key.startsWith(`${known}.`));
  return name && keys[name];
}
