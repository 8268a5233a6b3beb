import { failure } from '../../machines/fault.ts';
import { isObject } from './errorBody.ts';

/** Reads the fields of one foreign JSON object; one that is missing or ill-typed is PROTOCOL_INVALID, by its name. */
export interface Fields {
  /** Never empty. */
  text: (name: string) => string;
  /** The field must be there, as a string or null. */
  textOrNull: (name: string) => string | null;
  flag: (name: string) => boolean;
  /** A whole number of 0 or more. */
  count: (name: string) => number;
  object: (name: string) => Fields;
  /** An object whose keys are data. */
  record: (name: string) => Record<string, unknown>;
  /** False also for null. */
  has: (name: string) => boolean;
  /** The fault of a field that is of the right type but wrong all the same. */
  wrong: (name: string, must: string) => Error;
}

/** The fields of `json`, an answer to the call `what`; `path` is where it lies in the answer, empty for the whole. */
export function fieldsOf(json: unknown, what: string, path = ''): Fields {
  if (!isObject(json))
    throw invalid(what, path === '' ? 'the answer is not a JSON object' : `field ${path} is not an object`);
  const full = (name: string) => (path === '' ? name : `${path}.${name}`);
  const wrong = (name: string, must: string) =>
    invalid(what, `field ${full(name)} ${json[name] === undefined ? 'is missing' : must}`);
  const read = <T>(name: string, is: (value: unknown) => value is T, must: string): T => {
    const value = json[name];
    if (is(value)) return value;
    throw wrong(name, must);
  };
  return {
    text: (name) => read(name, isText, 'is empty or not a string'),
    textOrNull: (name) => read(name, isTextOrNull, 'is neither a string nor null'),
    flag: (name) => read(name, isFlag, 'is not a boolean'),
    count: (name) => read(name, isCount, 'is not a whole number of 0 or more'),
    object: (name) => fieldsOf(read(name, isObject, 'is not an object'), what, full(name)),
    record: (name) => read(name, isObject, 'is not an object'),
    has: (name) => json[name] !== undefined && json[name] !== null,
    wrong,
  };
}

function invalid(what: string, detail: string): Error {
  return failure('PROTOCOL_INVALID', `${what}: ${detail}`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || isText(value);
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
