import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { backendStates, patterns } from './schemas/common.ts';
import { backendCursorPattern } from '../rules/backendCursor.ts';
import { cursorPattern } from '../rules/cursor.ts';
import { ApiError } from '../services/apiError.ts';

// Formats are documentation; what is checked stands in `pattern`.
const options = { useDefaults: true, validateFormats: false, strictTypes: false } as const;
const json = new Ajv(options);
/** Parameters and headers arrive as text. */
const text = new Ajv({ ...options, coerceTypes: true });
/** Agents may be newer than the service: what it does not know is removed. */
const jsonOfAgents = new Ajv({ ...options, removeAdditional: 'all' });

/** Compiles schemas of requests: bodies are taken as they are, parameters are converted from their text. */
export const compileValidator = compilerWith(json);
/** As `compileValidator`, for agents: unknown fields of bodies are removed. */
export const compileAgentValidator = compilerWith(jsonOfAgents);

function compilerWith(bodies: Ajv): FastifySchemaCompiler<TSchema> {
  return ({ schema, httpPart }) => {
    const validate: ValidateFunction = (httpPart === 'body' ? bodies : text).compile(schema);
    return (value: unknown) => (validate(value) ? { value } : { error: validationError(httpPart, validate) });
  };
}

/** Names the field and what is wrong with it, never its value. */
function validationError(part: string | undefined, { errors }: ValidateFunction): ApiError {
  const [first] = errors ?? [];
  const field = [part, ...(first?.instancePath.split('/').slice(1) ?? [])].join('.');
  return new ApiError({ status: 400, code: 'REQUEST_INVALID', message: `${field} ${detailOf(first)}` });
}

const aCursor = 'must be what `next` of the page before says';

/** What operators are told of the forms that they type. */
const forms = new Map([
  [patterns.env, 'must be the name of an env: small letters, digits and hyphens, at most 63'],
  [patterns.sha256, 'must be a digest of 64 digits from 0 to f'],
  [patterns.uuid, 'must be an id, such as 0f8fad5b-d9cb-469f-a165-70867728950e'],
  [patterns.swarm, 'must be an id as `docker info` tells it: letters and digits, at most 64'],
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
  return propertyName === undefined ? message : `has a field ${JSON.stringify(propertyName)} whose name ${message}`;
}
