import { _, Ajv } from 'ajv';
import { objectSchema, sha256Schema } from '../../../platform/schemaParts.ts';
import { isTimestamp } from '../state/timestamp.ts';

const text = { type: 'string' };
const time = { ...text, format: 'time' };
const count = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

const schema: object = objectSchema({
  applied_sha: { ...sha256Schema, nullable: true },
  highest_sequence: count,
  attempt: {
    ...objectSchema({ sha: sha256Schema, phase: text, at: time, node: text, claim: count }),
    nullable: true,
  },
  failing: { ...objectSchema({ sha: sha256Schema, count, retry_at: time, line: text }), nullable: true },
});

/** Validates a value as what the managers of a swarm share. */
export const validate = new Ajv({
  formats: { time: isTimestamp },
  code: { source: true, formats: _`({ time: require('../state/timestamp.ts').isTimestamp })` },
}).compile(schema);
