/** JSON schema of a lower-case sha256 in hex. */
export const sha256Schema = { type: 'string', pattern: '^[0-9a-f]{64}$' };

/** JSON schema of a list. */
export function arraySchema(items: object) {
  return { type: 'array', items };
}

/**
 * JSON schema of an object. Keys of neither kind are let through, so that a file of a newer version is not rejected for what
 * it adds.
 */
export function objectSchema(required: Record<string, object>, optional: Record<string, object> = {}) {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) };
}
