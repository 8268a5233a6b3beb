import { failedFault } from '../../machines/fault.ts';

/** A validator that a schema was compiled to, with the first fault that it has found. */
interface AnswerValidator<Answer> {
  (json: unknown): json is Answer;
  errors?: AnswerError[] | null;
}

interface AnswerError {
  keyword: string;
  /** `/bundle/size_bytes`. */
  instancePath: string;
  params: Record<string, unknown>;
  /** The schema of the field, if the validator was compiled with `verbose`. */
  parentSchema?: object;
}

/** The answer to a call, if it is as its schema describes; throws PROTOCOL_INVALID with the name of the first invalid field. */
export function readAnswer<Answer>(validate: AnswerValidator<Answer>, json: unknown, call: string): Answer {
  if (validate(json)) return json;
  const [error] = validate.errors ?? [];
  validate.errors = null; // it holds values of the answer
  const name = (error?.instancePath ?? '').slice(1).replaceAll('/', '.');
  const missing = error?.keyword === 'required' ? String(error.params['missingProperty']) : null;
  if (missing !== null) throw invalidField(call, name === '' ? missing : `${name}.${missing}`, 'is missing');
  if (name === '' || error === undefined) throw protocolInvalid(call, 'the answer is not a JSON object');
  throw invalidField(call, name, problemOf(error));
}

/** The fault of a field. */
export function invalidField(call: string, name: string, problem: string): Error {
  return protocolInvalid(call, `field ${name} ${problem}`);
}

function protocolInvalid(call: string, detail: string): Error {
  return failedFault('PROTOCOL_INVALID', `${call}: ${detail}`);
}

/** The error text of a field: by its type, or the schema's description if only the type is right. */
function problemOf({ keyword, parentSchema = {} }: AnswerError): string {
  const { type = '', nullable = false, description } = parentSchema as FieldSchema;
  const isOfType = !['type', 'minLength', 'minimum', 'maximum'].includes(keyword);
  if (isOfType && description !== undefined) return description;
  return nullable && type === 'string' ? 'is neither a string nor null' : (typeProblems[type] ?? 'is invalid');
}

interface FieldSchema {
  type?: string;
  nullable?: boolean;
  description?: string;
}

const typeProblems: Readonly<Record<string, string>> = {
  string: 'is empty or not a string',
  boolean: 'is not a boolean',
  integer: 'is not a whole number of 0 or more',
  object: 'is not an object',
};

/** True for a JSON object, false for an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
