import { Ajv } from 'ajv';
import { sha256Schema } from '../core/json.rules.ts';
import { imagePredicateType, predicateType } from './formats.ts';

const ajv = new Ajv({ code: { source: true } });
const text = { type: 'string' };
const count = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

/** An object without any other key. */
function exactObject(properties: Record<string, object>, optional: Record<string, object> = {}): object {
  const required = Object.keys(properties);
  return { type: 'object', additionalProperties: false, required, properties: { ...properties, ...optional } };
}

const statementVersion = { enum: ['https://in-toto.io/Statement/v1', 'https://in-toto.io/Statement/v0.1'] };

/** The subjects of a statement: one, by its sha256; `optional` may stand beside that. */
function subject(optional: Record<string, object>): object {
  const items = exactObject({ digest: exactObject({ sha256: sha256Schema }) }, optional);
  return { type: 'array', minItems: 1, maxItems: 1, items };
}

/** Validates a value as the in-toto statement about a bundle. */
export const validateStatement = ajv.compile(
  exactObject({
    _type: statementVersion,
    subject: subject({ name: text }),
    predicateType: { const: predicateType },
    predicate: exactObject({ name: text, env: text, version: text, sequence: count }),
  }),
);

/** Validates a value as cosign's in-toto statement about an image; what its annotations say is not looked at. */
export const validateImageStatement = ajv.compile(
  exactObject(
    {
      _type: statementVersion,
      subject: subject({ name: text, annotations: { type: 'object' } }),
      predicateType: { const: imagePredicateType },
    },
    { predicate: { type: 'object' } },
  ),
);

/** Validates a value as the payload of a "simple signing" signature of cosign. */
export const validatePayload = ajv.compile(
  exactObject(
    {
      critical: exactObject({
        identity: exactObject({ 'docker-reference': text }),
        image: exactObject({ 'docker-manifest-digest': { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' } }),
        type: { const: 'cosign container image signature' },
      }),
    },
    { optional: { type: 'object', nullable: true } },
  ),
);

/** Validates a value as the log entry that cosign 2 puts into an annotation. */
export const validateLogEntry = ajv.compile(
  exactObject({
    SignedEntryTimestamp: text,
    Payload: exactObject({
      body: text,
      integratedTime: count,
      logIndex: count,
      logID: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    }),
  }),
);

const base64 = { type: 'string', pattern: '^[A-Za-z0-9+/]+={0,2}$' };

/** Memory is limited by `decryptCosignKey`, time by `p`. */
const scryptParams = exactObject({
  N: { type: 'integer', minimum: 1 },
  r: { type: 'integer', minimum: 1 },
  p: { type: 'integer', minimum: 1, maximum: 16 },
});

/** Validates the JSON in which cosign keeps an encrypted private key. */
export const validateCosignKey = ajv.compile(
  exactObject({
    kdf: exactObject({ name: { const: 'scrypt' }, params: scryptParams, salt: base64 }),
    cipher: exactObject({ name: { const: 'nacl/secretbox' }, nonce: base64 }),
    ciphertext: base64,
  }),
);
