import { Ajv } from 'ajv';
import { exactObject, text } from '../statementSchema.ts';

const schema: object = exactObject(
  {
    critical: exactObject({
      identity: exactObject({ 'docker-reference': text }),
      image: exactObject({ 'docker-manifest-digest': { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' } }),
      type: { const: 'cosign container image signature' },
    }),
  },
  { optional: { type: 'object', nullable: true } },
);

/** Validates a value as the payload of a "simple signing" signature of cosign. */
export const validate = new Ajv({ code: { source: true } }).compile(schema);
