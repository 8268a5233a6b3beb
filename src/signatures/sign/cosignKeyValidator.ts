import { Ajv } from 'ajv';

const base64 = { type: 'string', pattern: '^[A-Za-z0-9+/]+={0,2}$' };

function exactObject(properties: Record<string, object>): object {
  return { type: 'object', additionalProperties: false, required: Object.keys(properties), properties };
}

/** Memory is limited by `cosignKey.ts`, time by `p`. */
const [cost, parallel] = [
  { type: 'integer', minimum: 1 },
  { type: 'integer', minimum: 1, maximum: 16 },
];
const params = exactObject({ N: cost, r: cost, p: parallel });

/** Validates the JSON in which cosign keeps an encrypted private key. */
export const validate = new Ajv({ code: { source: true } }).compile(
  exactObject({
    kdf: exactObject({ name: { const: 'scrypt' }, params, salt: base64 }),
    cipher: exactObject({ name: { const: 'nacl/secretbox' }, nonce: base64 }),
    ciphertext: base64,
  }),
);
