import { Type } from 'typebox';
import { schemaCompiler } from '../core/compileSchema.ts';
import { LeaseAnswer, Orders } from './agentSchemas.ts';
import { Nullable } from './commonSchemas.ts';

/*
 * Validators of the tenancy service's answers, as agents read them; derived from the schemas of the API. They accept
 * unknown fields, and null in fields that older services leave out. A description is the error text for a value of the
 * right type.
 */

const compile = schemaCompiler({ verbose: true });
const Text = Type.String({ minLength: 1 });
const { action, production, desired_sha, bundle, purge_volumes } = Orders.properties;
const Sha = { ...desired_sha.anyOf[0], description: 'is not a lower-case sha256' };

/** Validates the fields of every answer to a check-in. */
export const orders = compile(
  Type.Object({
    action: { ...action, description: 'must be apply, none or down' },
    desired_sha: Nullable(Sha),
    env: Text,
    backend_id: Text,
    production,
    purge_volumes: Type.Optional(Nullable(purge_volumes)),
  }),
);

const { size_bytes, emergency } = bundle.properties;

/** Validates the fields of an answer whose action is `apply`. */
export const applyOrders = compile(
  Type.Object({
    desired_sha: Sha,
    bundle: Type.Object({
      sha256: Text,
      size_bytes: { ...size_bytes, maximum: Number.MAX_SAFE_INTEGER },
      emergency: Type.Optional(Nullable(emergency)),
    }),
  }),
);

const { method, role, jwt, expires_at, mount } = LeaseAnswer.properties.lease.properties;

/** Validates a lease. */
export const lease = compile(
  Type.Object({
    lease: Type.Object({
      method: { ...method, description: 'is not jwt' },
      mount: { ...mount, const: 'jwt-tenancy', description: 'is not jwt-tenancy' },
      role: { ...role, minLength: 1 },
      jwt: { ...jwt, pattern: '^[\\w-]+\\.[\\w-]+\\.[\\w-]+$', description: 'is not a JWT' },
      expires_at: {
        ...expires_at,
        format: 'time',
        pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
        description: 'is not a time',
      },
    }),
  }),
);
