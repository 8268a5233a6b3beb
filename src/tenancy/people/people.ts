import { randomUUID } from 'node:crypto';
import { ApiError, notFound } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry, byService, isReservedActor } from '../core/audit.ts';
import { type AuditCaller, tokenIssuer } from '../core/permission.rules.ts';
import { toTime } from '../core/lists.rules.ts';
import type { OperatorRow, Role } from '../store/database.ts';
import { findEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import {
  addAuditEntry,
  addOperator,
  deleteSessionsOf,
  envsOf,
  listOperators as selectOperators,
  lockAdmins,
  revokeOperator as revoke,
} from '../store/people.ts';
import type { Operator as OperatorView } from './peopleSchemas.ts';
import { digestOfToken, newOperatorToken } from './authenticate.ts';

/** Fields of a new operator. */
interface OperatorFields {
  /** Printable ASCII. */
  name: string;
  display_name?: string | undefined;
  role: Role;
  /** The environments to which the token is limited; null for all. */
  envs: string[] | null;
  /** Seconds after which the token expires; if missing, it never expires. */
  lifetime_s?: number | undefined;
  /** An emergency token: each call with it is recorded in the audit log. */
  break_glass?: boolean | undefined;
}

/** An operator from its row. */
interface OperatorAccount {
  id: string;
  name: string;
  display_name: string | null;
  role: Role;
  envs: string[] | null;
  /** RFC 3339. */
  expires_at: string | null;
  break_glass: boolean;
}

/** Operators with valid tokens, by name. */
export async function listOperators({ store, clock }: AuditDependencies): Promise<OperatorView[]> {
  const rows = await selectOperators(store, clock());
  return rows.map((row) => {
    const last_used_at = row.last_used_at === null ? null : toTime(row.last_used_at);
    return { ...accountOf(row), created_at: toTime(row.created_at), last_used_at };
  });
}

/**
 * Creates an operator; only the answer contains the token. Throws 404 for an unknown environment, 409 for a name that
 * is in use.
 */
export async function createOperator(
  deps: AuditDependencies,
  { caller, fields }: { caller: AuditCaller; fields: OperatorFields },
): Promise<OperatorAccount & { token: string }> {
  const { name, envs } = fields;
  const { row, token } = newOperator(fields, deps.clock());
  await deps.store.transaction().execute(async (work) => {
    for (const env of envs ?? []) if ((await findEnv(work, env)) === null) throw notFound('env');
    if (isReservedActor(name) || !(await addOperator(work, row))) throw refusal('OPERATOR_EXISTS', 'the name is taken');
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${row.id} ${name}`, env: null }));
  });
  return { ...accountOf(row), token };
}

/** Returns the row of a new operator and the token, which the row does not contain. */
export function newOperator(
  fields: OperatorFields,
  now: number,
  token: string = newOperatorToken(),
): { row: OperatorRow; token: string } {
  const { name, display_name = null, role, envs, lifetime_s, break_glass = false } = fields;
  const row = {
    id: randomUUID(),
    name,
    display_name,
    role,
    envs: envs && JSON.stringify(envs),
    token_sha256: digestOfToken(token) ?? '',
    created_at: now,
    expires_at: lifetime_s === undefined ? null : now + lifetime_s * 1000,
    break_glass: Number(break_glass),
    revoked_at: null,
    last_used_at: null,
  };
  return { row, token };
}

/** Revokes the token of an operator and its sessions at once; throws 404, and 409 for the last administrator of all environments. */
export async function revokeOperator(
  deps: AuditDependencies,
  { caller, id }: { caller: AuditCaller; id: string },
): Promise<void> {
  await deps.store.transaction().execute(async (work) => {
    const admins = await lockAdmins(work);
    if (admins.length === 1 && admins[0]?.id === id) {
      throw refusal('LAST_ADMIN', 'nobody could administer the service without this token');
    }
    const revoked = await revoke(work, id, deps.clock());
    if (revoked === null) throw notFound('operator');
    await deleteSessionsOf(work, { issuer: tokenIssuer, subject: id });
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${id} ${revoked.name}`, env: null }));
  });
}

function refusal(code: string, message: string): ApiError {
  return new ApiError({ status: 409, code, message });
}

function accountOf({ id, name, display_name, role, envs, expires_at, break_glass }: OperatorRow): OperatorAccount {
  return {
    ...{ id, name, display_name, role, envs: envsOf(envs) },
    expires_at: expires_at === null ? null : toTime(expires_at),
    break_glass: break_glass === 1,
  };
}

/** An administrator of all environments, created by a command on the service's machine. */
interface NewAdministrator {
  name: string;
  /** Name of the action in the audit log, such as `service.init`. */
  act: string;
  /** Milliseconds since 1970. */
  now: number;
  /** A token that nobody has used; by default a new one. */
  token?: string;
}

/** Creates an administrator in a transaction; returns the token, which is not stored, or null if the name is in use. */
export async function addAdministrator(
  work: Store,
  { name, act, now, token: given }: NewAdministrator,
): Promise<string | null> {
  const { row, token } = newOperator({ name, role: 'admin', envs: null }, now, given);
  if (isReservedActor(name) || !(await addOperator(work, row))) return null;
  const target = `${row.id} ${name}`;
  await addAuditEntry(work, auditEntry({ clock: () => now }, byService(act), { target, env: null }));
  return token;
}
