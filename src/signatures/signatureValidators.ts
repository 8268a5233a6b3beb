import { type Static, type TProperties, Type } from 'typebox';
import { Constant, Nullable, Sha256 } from '../api/commonSchemas.ts';
import { schemaCompiler } from '../core/compileSchema.ts';
import { imagePredicateType, predicateType } from './formats.ts';

const compile = schemaCompiler();
const Text = Type.String();
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** An object without any other key. */
function Exactly<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}

const StatementVersion = Type.Enum(['https://in-toto.io/Statement/v1', 'https://in-toto.io/Statement/v0.1']);
const Digest = Exactly({ sha256: Sha256 });

/** The subject of a statement: one, by its sha256. */
function One<Properties extends TProperties>(properties: Properties) {
  const subject = Exactly(properties);
  return Type.Unsafe<[Static<typeof subject>]>(Type.Array(subject, { minItems: 1, maxItems: 1 }));
}

/** Validates a value as the in-toto statement about a bundle. */
export const validateStatement = compile(
  Exactly({
    _type: StatementVersion,
    subject: One({ digest: Digest, name: Type.Optional(Text) }),
    predicateType: Constant(predicateType),
    predicate: Exactly({ name: Text, env: Text, version: Text, sequence: Count }),
  }),
);

/** Validates a value as cosign's in-toto statement about an image; what its annotations say is not looked at. */
export const validateImageStatement = compile(
  Exactly({
    _type: StatementVersion,
    subject: One({ digest: Digest, name: Type.Optional(Text), annotations: Type.Optional(Type.Object({})) }),
    predicateType: Constant(imagePredicateType),
    predicate: Type.Optional(Type.Object({})),
  }),
);

/** Validates a value as the payload of a "simple signing" signature of cosign. */
export const validatePayload = compile(
  Exactly({
    critical: Exactly({
      identity: Exactly({ 'docker-reference': Text }),
      image: Exactly({ 'docker-manifest-digest': Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }) }),
      type: Constant('cosign container image signature'),
    }),
    optional: Type.Optional(Nullable(Type.Object({}))),
  }),
);

/** Validates a value as the log entry that cosign 2 puts into an annotation. */
export const validateLogEntry = compile(
  Exactly({
    SignedEntryTimestamp: Text,
    Payload: Exactly({
      body: Text,
      integratedTime: Count,
      logIndex: Count,
      logID: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    }),
  }),
);

const Base64 = Type.String({ pattern: '^[A-Za-z0-9+/]+={0,2}$' });

/** The JSON in which cosign keeps an encrypted private key; memory is limited by `decryptCosignKey`, time by `p`. */
const CosignKey = Exactly({
  kdf: Exactly({
    name: Constant('scrypt'),
    params: Exactly({
      N: Type.Integer({ minimum: 1 }),
      r: Type.Integer({ minimum: 1 }),
      p: Type.Integer({ minimum: 1, maximum: 16 }),
    }),
    salt: Base64,
  }),
  cipher: Exactly({ name: Constant('nacl/secretbox'), nonce: Base64 }),
  ciphertext: Base64,
});

export type CosignKey = Static<typeof CosignKey>;

/** Validates a value as such a key. */
export const validateCosignKey = compile(CosignKey);
