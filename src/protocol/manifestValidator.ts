import { Ajv } from 'ajv';
import { manifestSchema } from './manifestSchema.ts';

/** Whether a value has the shape of a manifest; its errors tell where not. */
export const validate = new Ajv({ allErrors: true, verbose: true, strict: true, code: { source: true } }).compile(
  manifestSchema,
);
