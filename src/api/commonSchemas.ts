import { type Static, type TNull, type TSchema, type TUnion, Type } from 'typebox';

/** Where a backend can be in its life. */
export const backendStates = ['created', 'invited', 'active', 'offline', 'retiring', 'finishing', 'retired'] as const;
const state = `(${backendStates.join('|')})`;

/** Patterns of names in requests. */
export const patterns = {
  env: '^[a-z0-9][a-z0-9-]{0,62}$',
  sha256: '^[0-9a-f]{64}$',
  uuid: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  ascii: '^[!-~]([ -~]*[!-~])?$',
  line: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  states: `^${state}(,${state})*$`,
  swarm: '^[A-Za-z0-9_-]{1,64}$',
};
/** Name of an env. */
export const EnvName = Type.String({ pattern: patterns.env });
/** Lower-case hex sha256. */
export const Sha256 = Type.String({ pattern: patterns.sha256 });
/** Id of a backend or an operator. */
export const Uuid = Type.String({ pattern: patterns.uuid });
/** RFC 3339, UTC. */
export const Timestamp = Type.String({ format: 'date-time' });
/** Id of a swarm, or of a node of one. */
export const SwarmId = Type.String({ pattern: patterns.swarm });
/** One line of text without control characters. */
export const Line = Type.String({ minLength: 1, maxLength: 128, pattern: patterns.line });
/** Labels of a backend, by which operators select it. */
export const Labels = Type.Record(
  Type.String(),
  Type.String({ pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$' }),
  { propertyNames: { pattern: '^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$' }, maxProperties: 32 },
);
/** Labels to add or to change, and names of labels to remove. */
export const LabelChanges = Body({
  set: Type.Optional(Labels),
  remove: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 63 }), { maxItems: 32 })),
});
/** Entries of a page without another wish. */
export const DEFAULT_LIMIT = 100;
/** Entries of a page. */
export const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: DEFAULT_LIMIT }));

/** One value alone, whatever its type. */
export function Constant<const Value extends string | number>(value: Value) {
  return Type.Unsafe<Value>({ const: value });
}

/** Values of one type by any name. */
export function Values<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Record<string, Static<Schema>>>({ type: 'object', additionalProperties: schema });
}

/** Either a value or null. */
export function Nullable<Schema extends TSchema>(schema: Schema): TUnion<[Schema, TNull]> {
  return Type.Union([schema, Type.Null()]);
}

/** The end of the grace of an environment's secrets. */
export const SecretsDestroyAt = Nullable({
  ...Timestamp,
  description:
    'When the secrets of the environment will be destroyed, because its last host is retired; null if they will not be.',
});

/** Why a host defers changes. */
export const Deferral = Type.Enum(['hold', 'window']);

/** An object of a request, which has no other fields. */
export function Body<Fields extends Record<string, TSchema>>(fields: Fields) {
  return Type.Object(fields, { additionalProperties: false });
}

/** The body of every error (contract: agents show `message`, and act on some codes). */
export const ErrorBody = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    refusals: Type.Optional(
      Type.Array(
        Type.Object(
          {
            code: Type.String(),
            detail: Type.String(),
            faults: Type.Optional(Type.Array(Type.Object({ text: Type.String(), cure: Type.String() }))),
          },
          { title: 'Refusal' },
        ),
      ),
    ),
  }),
});
export type ErrorBody = Static<typeof ErrorBody>;
