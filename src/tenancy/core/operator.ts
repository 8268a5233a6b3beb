import { ApiError } from './apiError.ts';
import { forbiddenReason, type Need, type Permission } from './permission.rules.ts';

/** The caller of the operators' API. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  /** A call is allowed if any one of them allows it. */
  readonly permissions: readonly Permission[];
  /** Session of a signed-in person; a token has none. */
  readonly session?: SessionIdentity;
}

/** A session, and the person's identity at the OpenID provider. */
interface SessionIdentity {
  readonly id: string;
  readonly subject: string;
}

/** The caller of an action, for the audit log. */
export interface AuditCaller {
  readonly actor: string;
  /** Such as `backend.retire`. */
  readonly act: string;
  readonly address: string | null;
  readonly requestId: string | null;
}

/** A refused action, for the audit log. */
export interface RefusedAct extends AuditCaller {
  readonly target: string;
  readonly env: string | null;
  /** The code of the error. */
  readonly result: string;
}

/** A call with a token, before it is run. */
export interface TokenUse {
  bearer: string;
  /** Method and route, such as `GET /v1/envs/:env`. */
  call: string;
  address: string;
  requestId: string;
}

/** Throws `FORBIDDEN` unless a caller has a permission that covers the need. */
export function requirePermission({ permissions }: Pick<Operator, 'permissions'>, need: Need): void {
  const reason = forbiddenReason(permissions, need);
  if (reason === null) return;
  const env = typeof need.env === 'string' ? { env: need.env } : {};
  throw new ApiError({ status: 403, code: 'FORBIDDEN', message: reason, ...env });
}
