import { type Static, Type } from 'typebox';
import { Bundle, Warnings } from '../bundles/bundleSchemas.ts';
import { Body, EnvName, Nullable, SecretsDestroyAt, Timestamp } from '../../api/commonSchemas.ts';
import { overrideRollout } from '../envs/envSchemas.ts';

/** Names of secrets. */
const name = '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$';

/** The URL parameters that name a secret. */
export const SecretParams = Type.Object({ env: EnvName, key: Type.String({ pattern: name }) });

/** A secret by its name. */
export const Secret = Type.Object(
  {
    key: Type.String(),
    version: Type.Integer(),
    written_at: Nullable(Timestamp),
    written_by: Nullable(
      Type.String({ description: 'Operator who wrote this version; null if the audit log has no entry.' }),
    ),
  },
  { title: 'Secret' },
);
export type Secret = Static<typeof Secret>;

/** A list of secrets by name. */
export const SecretList = Type.Object(
  { secrets: Type.Array(Secret), destroy_at: SecretsDestroyAt },
  { title: 'SecretList' },
);
export type SecretList = Static<typeof SecretList>;

/** Longest value that an agent can pass to compose, in characters. */
const MAX_VALUE = 131_000;
/** One line, except the name that could change the prototype of an object. */
const field = '^(?!__proto__$)[^\\u0000-\\u001f\\u007f-\\u009f]{1,200}$';
const value = Type.String({ maxLength: MAX_VALUE, pattern: '^[^\\u0000]*$' });

/** Values by field. */
const data = Type.Record(Type.String(), value, {
  propertyNames: { pattern: field },
  minProperties: 1,
  maxProperties: 100,
});

const keepFields = {
  keep_fields: Type.Optional(
    Type.Boolean({ description: 'Keep the fields of the newest version that are not named; otherwise remove them.' }),
  ),
};

/** Values of a secret by field. */
export const SecretData = Body({
  data,
  ...keepFields,
  ...overrideRollout,
  if_version: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2 ** 31 - 1,
      description: 'Version that must be the newest one; 0 if the secret must not exist.',
    }),
  ),
});

/** Values of several secrets by name and field. */
export const SecretsData = Body({
  secrets: Type.Record(Type.String(), data, { propertyNames: { pattern: name }, minProperties: 1, maxProperties: 50 }),
  ...keepFields,
  ...overrideRollout,
});

/** A new version of a secret, and the bundle that deploys it. */
export const SecretVersion = Type.Object(
  { path: Type.String(), version: Type.Integer(), bundle: Nullable(Bundle), warnings: Warnings },
  { title: 'SecretVersion' },
);
export type SecretVersion = Static<typeof SecretVersion>;

/** New versions of several secrets, and the bundle that deploys them. */
export const SecretVersions = Type.Object(
  {
    secrets: Type.Array(Type.Object({ path: Type.String(), version: Type.Integer() })),
    bundle: Nullable(Bundle),
    warnings: Warnings,
  },
  { title: 'SecretVersions' },
);
export type SecretVersions = Static<typeof SecretVersions>;
