import { Ajv } from 'ajv';

const name = { type: 'string' };
const names = { type: 'array', items: name };

const job = whole({ service: name, fingerprint: name, image: name, volumes: names });

const seal = whole({ bytes: { type: 'integer', minimum: 0 }, mac: name, key: name });

const required = whole({
  schema: { const: 1 },
  sha: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  version: name,
  sequence: { type: 'integer' },
  production: { type: 'boolean' },
  services: { type: 'array', items: whole({ name, replicas: { type: 'integer', minimum: 0 } }) },
  images: { type: 'array', items: whole({ reference: name, id: { type: 'string', nullable: true } }) },
  compose: names,
});

const schema: object = {
  ...required,
  properties: { ...required.properties, jobs: { type: 'array', items: job }, env: seal },
};

/** Whether a value is a release's record. */
export const validate = new Ajv({ code: { source: true } }).compile(schema);

function whole(properties: Record<string, object>) {
  return { type: 'object', properties, required: Object.keys(properties) };
}
