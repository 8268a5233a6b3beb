import { ApiError } from './apiError.ts';
import { forbiddenReason, type Need, type Permission } from './permission.rules.ts';

/** Who calls the operators' API. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  /** Any one of them permits a call. */
  readonly permissions: readonly Permission[];
  /** Of a person who has signed in; a token has none. */
  readonly session?: SessionIdentity;
}

/** A session, and the person as the OpenID provider knows them. */
interface SessionIdentity {
  readonly id: string;
  readonly subject: string;
}

/** What the audit log says of the caller of an act. */
export interface AuditCaller {
  readonly actor: string;
  /** Such as `backend.retire`. */
  readonly act: string;
  readonly address: string | null;
  readonly requestId: string | null;
}

/** An act that was refused, as it enters the audit log. */
export interface RefusedAct extends AuditCaller {
  readonly target: string;
  readonly env: string | null;
  /** The code of the error. */
  readonly result: string;
}

/** A call that is about to be made with a token. */
export interface TokenUse {
  bearer: string;
  /** Method and route, such as `GET /v1/envs/:env`. */
  call: string;
  address: string;
  requestId: string;
}

/** Throws `FORBIDDEN` unless a caller is permitted what is needed. */
export function requirePermission({ permissions }: Pick<Operator, 'permissions'>, need: Need): void {
  const reason = forbiddenReason(permissions, need);
  if (reason === null) return;
  const env = typeof need.env === 'string' ? { env: need.env } : {};
  throw new ApiError({ status: 403, code: 'FORBIDDEN', message: reason, ...env });
}
