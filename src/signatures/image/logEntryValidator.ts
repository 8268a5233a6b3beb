import { Ajv } from 'ajv';
import { exactObject, text } from '../statementSchema.ts';

const count = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

const schema: object = exactObject({
  SignedEntryTimestamp: text,
  Payload: exactObject({
    body: text,
    integratedTime: count,
    logIndex: count,
    logID: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  }),
});

/** Validates a value as the log entry that cosign 2 puts into an annotation. */
export const validate = new Ajv({ code: { source: true } }).compile(schema);
