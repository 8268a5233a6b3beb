import type { Role } from '../store/database.ts';

/** Who calls the operators' API, as the row of its token says. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** The envs that the token is limited to; null for all. */
  readonly envs: readonly string[] | null;
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
