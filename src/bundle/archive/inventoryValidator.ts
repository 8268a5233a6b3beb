import { Ajv } from 'ajv';
import { objectSchema, sha256Schema } from '../../core/json.rules.ts';

const path = { type: 'string' };
const paths = { type: 'array', items: path };
const count = { type: 'integer', minimum: 0 };

const schema: object = objectSchema({
  schema: { const: 1 },
  sha: sha256Schema,
  files: {
    type: 'array',
    items: objectSchema({ path, size: count, sha256: sha256Schema, executable: { type: 'boolean' } }),
  },
  directories: paths,
  reached: paths,
  writable: paths,
  override: sha256Schema,
  repairs: { type: 'array', items: objectSchema({ path, count }) },
});

/** Validates a value as the inventory of a release. */
export const validate = new Ajv({ code: { source: true } }).compile(schema);
