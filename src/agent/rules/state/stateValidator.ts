import { _, Ajv } from 'ajv';
import { isTime } from '../../../protocol/time.ts';

const text = { type: 'string' };
const nullableText = { type: 'string', nullable: true };
const time = { type: 'string', format: 'time' };
const sha = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const count = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

const required = {
  schema: { const: 1 },
  env: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$' },
  applied_sha: { ...sha, nullable: true },
  applied_at: { ...time, nullable: true },
  applied_version: nullableText,
  highest_sequence: count,
  production: { type: 'boolean' },
  last_check_in: {
    ...record({ at: time, action: { enum: ['apply', 'none', 'down'] }, desired_sha: { ...sha, nullable: true } }),
    nullable: true,
  },
  last_outcome: { ...record({ at: time, outcome: text, code: nullableText, detail: nullableText }), nullable: true },
  attempt: { ...record({ sha, phase: text, at: time }), nullable: true },
  failing: { ...record({ sha, count, retry_at: time, line: text }), nullable: true },
  token: record(
    {
      expires_at: { ...time, nullable: true },
      renewable: { type: 'boolean' },
      creation_ttl_s: { type: 'number', nullable: true },
      trouble: nullableText,
    },
    { grant_refused: text },
  ),
  pending_reports: { type: 'array', items: record({ report_id: text }) },
};

const names = { type: 'array', items: text };

const schema: object = record(required, {
  production_unknown: { type: 'boolean' },
  baseline: { ...record({ sha, volumes: { ...names, nullable: true }, networks: names }), nullable: true },
  purge_pending: { ...record({ since: time, volumes: names, networks: names }), nullable: true },
});

/** Whether a value is a state. */
export const validate = new Ajv({
  formats: { time: isTime },
  code: { source: true, formats: _`({ time: require('../../../protocol/time.ts').isTime })` },
}).compile(schema);

/** Every property is required but those of `optional`, others are let through: a file of a newer version is not thrown away for what it adds. */
function record(properties: Record<string, object>, optional: Record<string, object> = {}) {
  return { type: 'object', properties: { ...properties, ...optional }, required: Object.keys(properties) };
}
