import { _, Ajv, type Options, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { formats } from './text.rules.ts';

/** The compilation of schemas: ajv's options, and the types of parts that become separate functions. */
interface CompilerOptions extends Options {
  split?: readonly string[];
}

/**
 * Compiles schemas to validators. Only a `…Validator.ts` or a `…Validators.ts` calls it: the bundler replaces those by the
 * compiled code, with neither ajv nor typebox (deb/program/plugins.ts).
 */
export function schemaCompiler({ split = [], ...options }: CompilerOptions = {}) {
  const ajv = new Ajv({
    inlineRefs: split.length === 0,
    formats,
    ...options,
    code: { source: true, formats: _`formats` },
  });
  return <Schema extends TSchema>(schema: Schema) =>
    ajv.compile(splitSchema(withNullable(schema) as object, split)) as ValidateFunction<Static<Schema>>;
}

/** Compiles the schema of a configuration; `errors` lists all invalid keys. */
export const compileConfig = schemaCompiler({ allErrors: true, split: ['array'] });

/** A union with null as ajv's `nullable`, whose errors say only what the other type demands. */
function withNullable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNullable);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { anyOf, ...rest } = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, withNullable(part)]));
  if (!Array.isArray(anyOf)) return anyOf === undefined ? rest : { ...rest, anyOf };
  const [type, none, ...others] = anyOf as { type?: string }[];
  return none?.type === 'null' && others.length === 0 ? { ...type, nullable: true, ...rest } : { ...rest, anyOf };
}

/**
 * The schema with a reference in place of each part of these types. Each part is a function of the compiled code then, and V8
 * compiles a function when it is first called. So parts that a file leaves out cost a tick nothing, and equal ones cost once.
 */
function splitSchema(schema: object, types: readonly string[]): object {
  if (types.length === 0) return schema;
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
