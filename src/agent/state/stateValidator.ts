import { _, Ajv } from 'ajv';
import { arraySchema, objectSchema, sha256Schema, splitSchema } from '../../core/json.rules.ts';
import { isTimestamp } from './history.rules.ts';

const text = { type: 'string' };
const nullableText = { ...text, nullable: true };
const time = { ...text, format: 'time' };
const names = arraySchema(text);
const flag = { type: 'boolean' };
const count = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

const failing = { ...objectSchema({ sha: sha256Schema, count, retry_at: time, line: text }), nullable: true };

const required = {
  env: { ...text, pattern: '^[a-z0-9][a-z0-9-]{0,62}$' },
  applied_sha: { ...sha256Schema, nullable: true },
  applied_at: { ...time, nullable: true },
  applied_version: nullableText,
  highest_sequence: count,
  production: flag,
  last_check_in: {
    ...objectSchema({
      at: time,
      action: { enum: ['apply', 'none', 'down'] },
      desired_sha: { ...sha256Schema, nullable: true },
    }),
    nullable: true,
  },
  last_outcome: {
    ...objectSchema({ at: time, outcome: text, code: nullableText, detail: nullableText }),
    nullable: true,
  },
  attempt: { ...objectSchema({ sha: sha256Schema, phase: text, at: time }, { tries: count }), nullable: true },
  failing,
  token: objectSchema(
    {
      expires_at: { ...time, nullable: true },
      renewable: flag,
      creation_ttl_s: { type: 'number', nullable: true },
      trouble: nullableText,
    },
    { grant_refused: text },
  ),
  pending_reports: arraySchema(objectSchema({ report_id: text })),
};

const healingRecord = objectSchema(
  { row: count, healed: flag, heals: count, at: time, retry_at: { ...time, nullable: true } },
  { restarts: objectSchema({ id: text, count, at: time }) },
);

const schema: object = objectSchema(required, {
  applied_signers: names,
  applied_images: arraySchema(objectSchema({ service: text, image: text, digest: text, signers: names })),
  production_unknown: flag,
  healing: { type: 'object', additionalProperties: healingRecord },
  check_in_clock: objectSchema({ at: time, boot: text, uptime_s: { type: 'number', minimum: 0 } }),
  lost_volumes: arraySchema(
    objectSchema({ name: text, how: { enum: ['lost', 'recreated'] }, services: names, at: time }),
  ),
  left_volumes: arraySchema(objectSchema({ name: text, service: text, target: text })),
  trial: {
    ...objectSchema({ sha: sha256Schema, previous: { ...sha256Schema, nullable: true }, failing }),
    nullable: true,
  },
  offline_since: { ...time, nullable: true },
  unreverted: {
    ...objectSchema({ sha: sha256Schema, tries: count, line: text, code: nullableText, retry_at: time }),
    nullable: true,
  },
  baseline: {
    ...objectSchema({ sha: sha256Schema, volumes: { ...names, nullable: true }, networks: names }),
    nullable: true,
  },
  swarm: { ...objectSchema({ id: text, node: text }), nullable: true },
  purge_pending: { ...objectSchema({ since: time, volumes: names, networks: names }), nullable: true },
});

/** Validates a value as a state; `parseState` has compared its `schema` before. */
export const validate = new Ajv({
  inlineRefs: false,
  formats: { time: isTimestamp },
  code: { source: true, formats: _`({ time: require('./history.rules.ts').isTimestamp })` },
}).compile(splitSchema(schema));
