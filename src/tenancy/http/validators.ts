import createFactory from '@fastify/fast-json-stringify-compiler';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError } from '../core/apiError.rules.ts';
import { backendCursorPattern, cursorPattern } from '../core/lists.rules.ts';
import { backendStates, patterns } from '../../api/commonSchemas.ts';
import { isDateTime } from '../../core/text.rules.ts';

/** The serializers write times unchecked, so a stored time must have the right form. */
const formats = { 'date-time': isDateTime, uri: true } as const;
const options = { useDefaults: true, formats, strictTypes: false } as const;
const json = new Ajv(options);
/** Parameters and headers arrive as text. A number with hundreds of digits is infinite, and must exceed its maximum. */
const text = new Ajv({ ...options, coerceTypes: true, strictNumbers: false });
/** Agents may be newer than the service: remove unknown fields. */
const jsonOfAgents = new Ajv({ ...options, removeAdditional: 'all' });

/** Compiles schemas of requests: bodies are validated unchanged, parameters are converted from text. */
export const compileValidator = compilerWith(json);
/** Like `compileValidator`, for agents: removes unknown fields of bodies. */
export const compileAgentValidator = compilerWith(jsonOfAgents);

function compilerWith(bodies: Ajv): FastifySchemaCompiler<TSchema> {
  return ({ schema, httpPart }) => {
    const validate: ValidateFunction = (httpPart === 'body' ? bodies : text).compile(schema);
    return (value: unknown) => (validate(value) ? { value } : { error: validationError(httpPart, validate) });
  };
}

/** Names the field and its fault, never its value. */
function validationError(part: string | undefined, { errors }: ValidateFunction): ApiError {
  const [first] = errors ?? [];
  const field = [part, ...(first?.instancePath.split('/').slice(1) ?? [])].join('.');
  return new ApiError({ status: 400, code: 'REQUEST_INVALID', message: `${field} ${detailOf(first)}` });
}

const aCursor = 'must be `next` of the previous page';

/** Descriptions of patterns for error messages to operators. */
const forms = new Map([
  [patterns.env, 'must be the name of an environment: lowercase letters, digits and hyphens, at most 63'],
  [patterns.sha256, 'must be a digest of 64 digits from 0 to f'],
  [patterns.uuid, 'must be an id, such as 0f8fad5b-d9cb-469f-a165-70867728950e'],
  [patterns.swarm, 'must be a swarm id from `docker info`: letters and digits, at most 64'],
  [patterns.ascii, 'must be printable ASCII, without a space at the begin or end'],
  [patterns.line, 'must be one line without control characters'],
  [patterns.states, `must be one or more of ${backendStates.join(', ')}, separated by commas`],
  [cursorPattern, aCursor],
  [backendCursorPattern, aCursor],
]);

function detailOf({ params, propertyName, message = 'is invalid' }: Partial<ErrorObject> = {}): string {
  const unknown: unknown = params?.['additionalProperty'];
  if (typeof unknown === 'string') return `has an unknown field ${JSON.stringify(unknown)}`;
  if (Array.isArray(params?.['allowedValues'])) return `must be one of ${params['allowedValues'].join(', ')}`;
  const form = forms.get(String(params?.['pattern']));
  if (form !== undefined && propertyName === undefined) return form;
  if (params?.['format'] === 'date-time') return 'must be a time, such as 2026-11-24T12:00:00Z';
  return propertyName === undefined ? message : `has a field ${JSON.stringify(propertyName)} whose name ${message}`;
}

type Serialize = ReturnType<FastifySerializerCompiler<TSchema>>;

const compile = createFactory()();
/** Compiled serializers by the text of the schema. */
const compiled = new Map<string, Serialize>();

/** Compiles schemas of answers, as Fastify does, but equal schemas only once, such as the errors of all routes. */
export const compileSerializer: FastifySerializerCompiler<TSchema> = ({ schema, method, url, httpStatus = '' }) => {
  const text = JSON.stringify(schema);
  const serialize = compiled.get(text) ?? compile({ schema, method, url, httpStatus });
  compiled.set(text, serialize);
  return serialize;
};

type Json = Record<string, unknown>;

/** A description that consists only of codes, such as `ENV_NOT_FOUND, BUNDLE_NOT_FOUND`. */
const codes = /^[A-Z_]+(, [A-Z_]+)*$/;

/**
 * Moves schemas with a `title`, and error responses that are described by their codes, into the components of an
 * OpenAPI document, without duplicates. Throws if two different ones have the same name.
 */
export function shareComponents(document: Json): Json {
  const schemas = new Map<string, Json>();
  const responses = new Map<string, Json>();
  const replace = (node: Json, key: string) => {
    const { title, description, ...rest } = node;
    const about = description === undefined ? {} : { description };
    if (typeof title === 'string') return refer(schemas, { kind: 'schemas', name: title, node: { ...rest, ...about } });
    const isError = Number(key) >= 400 && typeof description === 'string' && codes.test(description);
    return isError ? refer(responses, { kind: 'responses', name: description.replaceAll(', ', '-or-'), node }) : node;
  };
  const paths = replaceObjects(document['paths'], replace);
  const webhooks = replaceObjects(document['webhooks'], replace);
  const components = { ...(document['components'] as Json), schemas: sorted(schemas), responses: sorted(responses) };
  return { ...document, paths, ...(webhooks !== undefined && { webhooks }), components };
}

/**
 * Returns a copy of a document's part in which each object is replaced after its children; `key` is its name in the
 * parent.
 */
function replaceObjects(part: unknown, replace: (node: Json, key: string) => Json, key = ''): unknown {
  if (Array.isArray(part)) return part.map((item) => replaceObjects(item, replace));
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).map(([name, value]) => [name, replaceObjects(value, replace, name)]);
  return replace(Object.fromEntries(entries) as Json, key);
}

function refer(components: Map<string, Json>, { kind, name, node }: { kind: string; name: string; node: Json }): Json {
  const known = components.get(name) ?? node;
  if (JSON.stringify(known) !== JSON.stringify(node)) throw new Error(`two ${kind} have the name ${name}`);
  components.set(name, node);
  return { $ref: `#/components/${kind}/${name}` };
}

function sorted(components: Map<string, Json>): Json {
  return Object.fromEntries([...components].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
