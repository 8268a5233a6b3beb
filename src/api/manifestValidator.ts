import { Ajv } from 'ajv';
import { manifestSchema } from './manifestSchema.rules.ts';

/** Validates a value against the schema of the manifest; `errors` lists what is invalid. */
export const validate = new Ajv({ allErrors: true, verbose: true, strict: true, code: { source: true } }).compile(
  manifestSchema,
);
