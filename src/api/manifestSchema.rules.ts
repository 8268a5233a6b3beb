const visibleText = { type: 'string', minLength: 1, maxLength: 200, pattern: '^[^\\p{C}\\u2028\\u2029]*$' } as const;
const variableName = {
  type: 'string',
  maxLength: 200,
  pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
  description: 'the name of a variable: letters, digits and _, not starting with a digit',
} as const;
const nonNegativeInteger = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;

/** JSON schema of `manifest.json` (spec §5). Refusals and docs show each description as what is allowed. */
export const manifestSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'an object',
  required: ['schema', 'name', 'env', 'version', 'sequence', 'compose', 'secrets'],
  properties: {
    schema: { const: 1, description: '1' },
    name: { ...visibleText, description: 'a name of 1 to 200 visible characters' },
    env: {
      type: 'string',
      pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
      description: 'an env id: 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen',
    },
    version: { ...visibleText, description: 'a version of 1 to 200 visible characters' },
    sequence: { ...nonNegativeInteger, description: 'an integer from 0 that rises with every bundle of an env' },
    production: { type: 'boolean', description: 'true or false; default false' },
    agent: {
      type: 'object',
      additionalProperties: false,
      description: 'an object of flags, each lifting its own refusal, or the windows of hosts',
      properties: {
        allow_privileged: { type: 'boolean', description: 'true or false; default false' },
        allow_rollback: { type: 'boolean', description: 'true or false; default false' },
        emergency: { type: 'boolean', description: 'true or false; default false' },
      },
    },
    compose: {
      type: 'array',
      minItems: 1,
      maxItems: 20,
      description: 'a list of 1 to 20 compose files',
      items: {
        type: 'string',
        maxLength: 1000,
        pattern: '^(?!\\.{0,2}(/|$))[^\\p{C}\\u2028\\u2029\\\\/]+(/(?!\\.{0,2}(/|$))[^\\p{C}\\u2028\\u2029\\\\/]+)*$',
        description: 'a relative path inside the bundle, without empty, "." and ".." parts and backslashes',
      },
    },
    profiles: {
      type: 'array',
      maxItems: 100,
      description: 'a list of at most 100 profiles of compose',
      items: {
        type: 'string',
        maxLength: 200,
        pattern: '^[a-zA-Z0-9._-]+$',
        description: 'the name of a profile: letters, digits, ".", "_" and "-"',
      },
    },
    disk_need_bytes: { ...nonNegativeInteger, description: 'an integer of bytes from 0; leave it out when unknown' },
    variables: {
      type: 'object',
      maxProperties: 1000,
      description: 'an object of at most 1000 variables, each with its value, which is not a secret',
      propertyNames: variableName,
      additionalProperties: { type: 'string', description: 'text' },
    },
    secrets: {
      type: 'array',
      maxItems: 1000,
      description: 'a list of at most 1000 variables',
      items: {
        type: 'object',
        additionalProperties: false,
        description: 'an object that says where the value of one variable lies',
        required: ['var', 'path', 'field'],
        properties: {
          var: variableName,
          path: { type: 'string', maxLength: 1000, description: 'a path below deployd/data/<env>/see/' },
          field: { ...visibleText, description: 'the field of the secret, of 1 to 200 visible characters' },
          version: {
            ...nonNegativeInteger,
            minimum: 1,
            description: 'an integer from 1; leave it out for the latest version',
          },
        },
      },
    },
    registries: {
      type: 'array',
      maxItems: 100,
      description: 'a list of at most 100 logins',
      items: {
        type: 'object',
        additionalProperties: false,
        description: 'an object that names a registry and the variables of its login',
        required: ['host', 'username_var', 'password_var'],
        properties: {
          host: {
            type: 'string',
            maxLength: 500,
            pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)*$',
            description:
              'the host of the registry, with its port if it has one, and with a path to limit the login to repositories below it',
          },
          username_var: variableName,
          password_var: variableName,
        },
      },
    },
  },
} as const;
