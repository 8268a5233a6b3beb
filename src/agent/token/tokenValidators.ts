import { Type } from 'typebox';
import { Nullable, Values } from '../../api/commonSchemas.ts';
import { schemaCompiler } from '../../core/compileSchema.ts';

const compile = schemaCompiler({ verbose: true });
const Text = Type.String({ minLength: 1 });
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const lifetime = { lease_duration: Count, renewable: Type.Boolean() };

/** Validates the secretstore's answer to a login. */
export const login = compile(Type.Object({ auth: Type.Object({ client_token: Text, ...lifetime }) }));

/** Validates its answer to a renewal of a token. */
export const renewal = compile(Type.Object({ auth: Type.Object(lifetime) }));

/** Validates its answer to the self-lookup of a valid token. */
export const lookup = compile(
  Type.Object({
    data: Type.Object({
      ttl: Count,
      creation_ttl: Count,
      renewable: Type.Boolean(),
      expire_time: Nullable(Text),
      meta: Type.Optional(Nullable(Type.Object({ env: Type.Optional(Nullable(Text)) }))),
    }),
  }),
);

/** Validates its answer to the read of a secret. */
export const secret = compile(
  Type.Object({
    data: Type.Object({
      data: Values(Type.Unknown()),
      metadata: Type.Object({ version: Count, created_time: Text }),
    }),
  }),
);
