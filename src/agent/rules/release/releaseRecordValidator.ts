import { Ajv } from 'ajv';
import { objectSchema, sha256Schema } from '../schemaParts.ts';

const name = { type: 'string' };
const names = { type: 'array', items: name };

const oneShot = objectSchema({ service: name, fingerprint: name, image: name, volumes: names });

const envDigest = objectSchema({ bytes: { type: 'integer', minimum: 0 }, mac: name, key: name });

const schema: object = objectSchema(
  {
    schema: { const: 1 },
    sha: sha256Schema,
    version: name,
    sequence: { type: 'integer' },
    production: { type: 'boolean' },
    services: { type: 'array', items: objectSchema({ name, replicas: { type: 'integer', minimum: 0 } }) },
    images: { type: 'array', items: objectSchema({ reference: name, id: { type: 'string', nullable: true } }) },
    compose: names,
  },
  { jobs: { type: 'array', items: oneShot }, env: envDigest },
);

/** Validates a value as the record of a release. */
export const validate = new Ajv({ code: { source: true } }).compile(schema);
