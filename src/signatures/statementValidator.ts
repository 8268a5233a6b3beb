import { Ajv } from 'ajv';
import { predicateType } from './formats.ts';

const text = { type: 'string' };

function exactObject(properties: Record<string, object>, optional: Record<string, object> = {}): object {
  const required = Object.keys(properties);
  return { type: 'object', additionalProperties: false, required, properties: { ...properties, ...optional } };
}

const schema: object = exactObject({
  _type: { enum: ['https://in-toto.io/Statement/v1', 'https://in-toto.io/Statement/v0.1'] },
  subject: {
    type: 'array',
    minItems: 1,
    maxItems: 1,
    items: exactObject(
      { digest: exactObject({ sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' } }) },
      { name: text },
    ),
  },
  predicateType: { const: predicateType },
  predicate: exactObject({
    name: text,
    env: text,
    version: text,
    sequence: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  }),
});

/** Validates a value as the in-toto statement about a bundle. */
export const validate = new Ajv({ code: { source: true } }).compile(schema);
