import { Ajv } from 'ajv';
import { predicateType } from './formats.ts';
import { exactObject, subjectSchema, text, versionSchema } from './statementSchema.ts';

const schema: object = exactObject({
  _type: versionSchema,
  subject: subjectSchema({ name: text }),
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
