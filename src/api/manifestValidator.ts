import { type Static, Type } from 'typebox';
import { schemaCompiler } from '../core/compileSchema.ts';
import { maxSequence } from './checkIn.rules.ts';
import { Constant } from './commonSchemas.ts';

const visible = { minLength: 1, maxLength: 200, pattern: '^[^\\p{C}\\u2028\\u2029]*$' };
const VariableName = Type.String({
  maxLength: 200,
  pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
  description: 'the name of a variable: letters, digits and _, not starting with a digit',
});
const Flag = Type.Boolean({ description: 'true or false; default false' });
const max = { maximum: Number.MAX_SAFE_INTEGER };
const closed = { additionalProperties: false };

/** Schema of `manifest.json` (spec §5). Refusals and docs show each description as what is allowed. */
export const manifestSchema = Type.Object(
  {
    schema: Type.Unsafe<1>({ ...Constant(1), description: '1' }),
    name: Type.String({ ...visible, description: 'a name of 1 to 200 visible characters' }),
    env: Type.String({
      pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
      description:
        'the name of an environment: 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen',
    }),
    version: Type.String({ ...visible, description: 'a version of 1 to 200 visible characters' }),
    sequence: Type.Integer({
      minimum: 1,
      maximum: maxSequence,
      description: 'an integer from 1 to 2^48 that is higher in each new bundle of the environment',
    }),
    production: Type.Optional(Flag),
    agent: Type.Optional(
      Type.Object(
        { allow_privileged: Type.Optional(Flag), allow_rollback: Type.Optional(Flag), emergency: Type.Optional(Flag) },
        { ...closed, description: 'an object of flags, each lifting its own refusal, or the windows of hosts' },
      ),
    ),
    compose: Type.Array(
      Type.String({
        maxLength: 1000,
        pattern: '^(?!\\.{0,2}(/|$))[^\\p{C}\\u2028\\u2029\\\\/]+(/(?!\\.{0,2}(/|$))[^\\p{C}\\u2028\\u2029\\\\/]+)*$',
        description: 'a relative path inside the bundle, without empty, "." and ".." parts and backslashes',
      }),
      { minItems: 1, maxItems: 20, description: 'a list of 1 to 20 compose files' },
    ),
    profiles: Type.Optional(
      Type.Array(
        Type.String({
          maxLength: 200,
          pattern: '^[a-zA-Z0-9._-]+$',
          description: 'the name of a profile: letters, digits, ".", "_" and "-"',
        }),
        { maxItems: 100, description: 'a list of at most 100 profiles of compose' },
      ),
    ),
    disk_need_bytes: Type.Optional(
      Type.Integer({ minimum: 0, ...max, description: 'an integer of bytes from 0; leave it out when unknown' }),
    ),
    variables: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        maxProperties: 1000,
        description: 'an object of at most 1000 variables, each with its value, which is not a secret',
        propertyNames: VariableName,
        additionalProperties: Type.String({ description: 'text' }),
      }),
    ),
    secrets: Type.Array(
      Type.Object(
        {
          var: VariableName,
          path: Type.String({ maxLength: 1000, description: 'a path below deployd/data/<env>/see/' }),
          field: Type.String({ ...visible, description: 'the field of the secret, of 1 to 200 visible characters' }),
          version: Type.Optional(
            Type.Integer({ minimum: 1, ...max, description: 'an integer from 1; leave it out for the latest version' }),
          ),
          argument_of: Type.Optional(
            Type.Array(Type.String({ ...visible, description: 'the name of a service' }), {
              maxItems: 100,
              description:
                'a list of at most 100 services whose program may have the value as one argument, on hosts that require signatures',
            }),
          ),
        },
        { ...closed, description: 'an object that says where the value of one variable lies' },
      ),
      { maxItems: 1000, description: 'a list of at most 1000 variables' },
    ),
    registries: Type.Optional(
      Type.Array(
        Type.Object(
          {
            host: Type.String({
              maxLength: 500,
              pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)*$',
              description:
                'the host of the registry, with its port if it has one, and with a path to limit the login to repositories below it',
            }),
            username_var: VariableName,
            password_var: VariableName,
          },
          { ...closed, description: 'an object that names a registry and the variables of its login' },
        ),
        { maxItems: 100, description: 'a list of at most 100 logins' },
      ),
    ),
  },
  { ...closed, description: 'an object' },
);

/** `manifest.json` as written, without defaults. */
export type WrittenManifest = Static<typeof manifestSchema>;

const compile = schemaCompiler({ allErrors: true, verbose: true, strict: true });

/** Validates a value against the schema of the manifest; `errors` lists what is invalid. */
export const validate = compile(manifestSchema);
