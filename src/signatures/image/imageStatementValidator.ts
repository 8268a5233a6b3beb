import { Ajv } from 'ajv';
import { imagePredicateType } from '../formats.ts';
import { exactObject, subjectSchema, text, versionSchema } from '../statementSchema.ts';

const schema: object = exactObject(
  {
    _type: versionSchema,
    subject: subjectSchema({ name: text, annotations: { type: 'object' } }),
    predicateType: { const: imagePredicateType },
  },
  { predicate: { type: 'object' } },
);

/** Validates a value as cosign's in-toto statement about an image; what its annotations say is not looked at. */
export const validate = new Ajv({ code: { source: true } }).compile(schema);
