import { failedFault } from '../../machines/fault.ts';

/** Reads the fields of a JSON object from a service; throws PROTOCOL_INVALID with the name of a missing or ill-typed field. */
export interface JsonFields {
  /** A string that is not empty. */
  string: (name: string) => string;
  /** The field must be present, as a non-empty string or null. */
  stringOrNull: (name: string) => string | null;
  boolean: (name: string) => boolean;
  /** An integer of 0 or more. */
  count: (name: string) => number;
  object: (name: string) => JsonFields;
  /** An object with arbitrary keys. */
  record: (name: string) => Record<string, unknown>;
  /** True when the field is present and not null. */
  has: (name: string) => boolean;
  /** The fault of a field whose type is right and whose value is not. */
  invalidField: (name: string, problem: string) => Error;
}

/** The fields of `json`, which came in response to `call`; `path` is its position in the response, empty for the root. */
export function fieldsOf(json: unknown, call: string, path = ''): JsonFields {
  if (!isObject(json)) throw protocolInvalid(call, 'the answer is not a JSON object');
  const full = (name: string) => (path === '' ? name : `${path}.${name}`);
  const invalidField = (name: string, problem: string) =>
    protocolInvalid(call, `field ${full(name)} ${json[name] === undefined ? 'is missing' : problem}`);
  const read = <T>(name: string, is: (value: unknown) => value is T, problem: string): T => {
    const value = json[name];
    if (is(value)) return value;
    throw invalidField(name, problem);
  };
  return {
    string: (name) => read(name, isNonEmptyString, 'is empty or not a string'),
    stringOrNull: (name) => read(name, isStringOrNull, 'is neither a string nor null'),
    boolean: (name) => read(name, isBoolean, 'is not a boolean'),
    count: (name) => read(name, isNonNegativeInteger, 'is not a whole number of 0 or more'),
    object: (name) => fieldsOf(read(name, isObject, 'is not an object'), call, full(name)),
    record: (name) => read(name, isObject, 'is not an object'),
    has: (name) => json[name] !== undefined && json[name] !== null,
    invalidField,
  };
}

/** True for a JSON object, false for an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function protocolInvalid(call: string, detail: string): Error {
  return failedFault('PROTOCOL_INVALID', `${call}: ${detail}`);
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isStringOrNull(value: unknown): value is string | null {
  return value === null || isNonEmptyString(value);
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isNonNegativeInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Paths (`agent.allow_privileged`, `secrets[0].var`) of the duplicate keys in a JSON text, which must be valid JSON. */
export function duplicateKeys(json: string): string[] {
  const duplicates: string[] = [];
  const open: NestingLevel[] = [];
  for (const [token, , colon] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\],]/g)) {
    const level = open.at(-1);
    if (token === '{' || token === '[')
      open.push({ path: pathOf(level), keys: token === '{' ? new Set() : null, position: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',' && level?.keys === null) level.position = Number(level.position) + 1;
    else if (colon !== undefined && level?.keys) {
      level.position = JSON.parse(token.slice(0, -colon.length)) as string;
      if (level.keys.has(level.position)) duplicates.push(pathOf(level));
      level.keys.add(level.position);
    }
  }
  return duplicates;
}

interface NestingLevel {
  path: string;
  /** Null in an array. */
  keys: Set<string> | null;
  /** The key or the index at which the scan is. */
  position: string | number;
}

function pathOf(level: NestingLevel | undefined): string {
  if (!level) return '';
  const { path, position } = level;
  return typeof position === 'number' ? `${path}[${position}]` : `${path}${path === '' ? '' : '.'}${position}`;
}

/** The value if it is an object, else an empty object. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The value if it is an array, else an empty array. */
export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** The value if it is a string, else an empty string. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The parsed JSON, undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
