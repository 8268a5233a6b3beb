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

/**
 * The schema with a reference in place of each part of these types. Compile it with `inlineRefs: false`: each part is a
 * function of the compiled code then, and V8 compiles a function when it is first called. So parts that a file leaves out
 * cost a tick nothing, and equal ones cost once.
 */
export function splitSchema(schema: object, types: readonly string[] = ['array', 'object']): object {
  const parts = new Map<string, object>();
  const split = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(split);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, part]): [string, unknown] => [name, refer(split(part))]),
    );
  };
  const refer = (part: unknown): unknown => {
    const { nullable, ...rest } = (part ?? {}) as { type?: string; nullable?: boolean };
    if (!types.includes(rest.type ?? '')) return part;
    const text = JSON.stringify(rest);
    parts.set(text, rest);
    const reference = { $ref: `#/$defs/${[...parts.keys()].indexOf(text)}` };
    return nullable === true ? { if: { type: 'null' }, else: reference } : reference;
  };
  const whole = split(schema) as object;
  return { ...whole, $defs: Object.fromEntries([...parts.values()].map((part, index) => [String(index), part])) };
}
