import { sha256Schema } from '../platform/schemaParts.ts';

/** JSON schema of any text. */
export const text = { type: 'string' };

/** JSON schema of an object without any other key. */
export function exactObject(properties: Record<string, object>, optional: Record<string, object> = {}): object {
  const required = Object.keys(properties);
  return { type: 'object', additionalProperties: false, required, properties: { ...properties, ...optional } };
}

/** JSON schema of the versions of in-toto statements that are read. */
export const versionSchema = { enum: ['https://in-toto.io/Statement/v1', 'https://in-toto.io/Statement/v0.1'] };

/** JSON schema of the subjects of a statement: one, by its sha256; `optional` may stand beside that. */
export function subjectSchema(optional: Record<string, object>): object {
  const items = exactObject({ digest: exactObject({ sha256: sha256Schema }) }, optional);
  return { type: 'array', minItems: 1, maxItems: 1, items };
}
