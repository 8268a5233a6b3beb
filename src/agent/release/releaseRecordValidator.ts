import { Ajv } from 'ajv';
import { arraySchema, objectSchema, sha256Schema, splitSchema } from '../../core/json.rules.ts';

const name = { type: 'string' };
const names = arraySchema(name);
const nullableName = { ...name, nullable: true };
const count = { type: 'integer', minimum: 0 };

const oneShot = objectSchema({ service: name, fingerprint: name, image: name, volumes: names });

const verifiedImage = objectSchema({ service: name, image: name, digest: name, signers: names });

const envDigest = objectSchema({ bytes: count, mac: name, key: name });

const recordedContainer = objectSchema({
  ...{ id: name, service: name, image: name, networks: names, number: name },
  volumes: arraySchema(objectSchema({ name, target: name })),
});

const recordedVolume = objectSchema({
  name,
  created_at: nullableName,
  born_at: nullableName,
});
/** Kinds and conditions are not listed, so that records of newer versions are read. */
const serviceFacts = {
  kind: name,
  job_by: name,
  demand_s: { type: 'number', minimum: 0 },
  after: arraySchema(objectSchema({ name, condition: name })),
};

/** The parts are not listed, so that records of newer versions are read. */
const edges = { joins: arraySchema(objectSchema({ service: name, part: name })), restarts_with: names };

const schema: object = objectSchema(
  {
    schema: { const: 1 },
    sha: sha256Schema,
    version: name,
    sequence: { type: 'integer' },
    production: { type: 'boolean' },
    services: arraySchema(objectSchema({ name, replicas: count }, { ...serviceFacts, ...edges })),
    images: arraySchema(objectSchema({ reference: name, id: nullableName }, { digest: nullableName })),
    compose: names,
  },
  {
    profiles: names,
    variables: { type: 'object', additionalProperties: name },
    signers: names,
    verified_images: arraySchema(verifiedImage),
    jobs: arraySchema(oneShot),
    writable: names,
    ended: names,
    env: envDigest,
    containers: arraySchema(recordedContainer),
    volumes: arraySchema(recordedVolume),
  },
);

/** Validates a value as the record of a release. */
export const validate = new Ajv({ messages: false, inlineRefs: false, code: { source: true } }).compile(
  splitSchema(schema),
);
