import { Ajv } from 'ajv';

const path = { type: 'string' };
const paths = { type: 'array', items: path };
const digest = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const count = { type: 'integer', minimum: 0 };

const schema: object = whole({
  schema: { const: 1 },
  sha: digest,
  files: { type: 'array', items: whole({ path, size: count, sha256: digest, executable: { type: 'boolean' } }) },
  directories: paths,
  reached: paths,
  writable: paths,
  override: digest,
  repairs: { type: 'array', items: whole({ path, count }) },
});

/** Whether a value is a release's list of its files. */
export const validate = new Ajv({ code: { source: true } }).compile(schema);

function whole(properties: Record<string, object>) {
  return { type: 'object', properties, required: Object.keys(properties) };
}
