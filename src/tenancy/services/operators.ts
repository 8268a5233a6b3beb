import { randomUUID } from 'node:crypto';
import { digestOfToken, newOperatorToken } from '../credentials/operatorToken.ts';
import { leastRole, visibleEnvs } from '../rules/permission.ts';
import { addAuditEntry } from '../store/audit.ts';
import type { OperatorRow, Role } from '../store/database.ts';
import { findEnv } from '../store/envs.ts';
import {
  addOperator,
  findOperator,
  listOperators as selectOperators,
  lockAdmins,
  recordOperatorUse,
  revokeOperator as revoke,
} from '../store/operators.ts';
import { ApiError, notFound } from './apiError.ts';
import { auditEntry, SERVICE_ACTOR } from './audit.ts';
import { toTime } from './backendViews.ts';
import type { Dependencies } from './dependencies.ts';
import type { AuditCaller, Operator } from './operator.ts';

/** The last use of a token is kept once in so many milliseconds. */
const USE_KEPT_MS = 60_000;

/** Finds the operator of a bearer by its digest, and keeps that it was used. */
export async function authenticateOperator(deps: Dependencies, bearer: string): Promise<Operator | null> {
  const digest = digestOfToken(bearer);
  const row = digest === null ? null : await findOperator(deps.store, digest);
  if (row === null) return null;
  await keepUse(deps, row);
  const { id, name, role, envs } = accountOf(row);
  return { id, name, permissions: [{ role, envs }] };
}

/** A caller as the API tells it: its role is the one that it has in every one of its envs at least. */
export function viewCaller({ name, permissions }: Operator) {
  const envs = visibleEnvs(permissions);
  const each = permissions.map(({ role, envs: only }) => ({ role, envs: only && [...only] }));
  return { name, role: leastRole(permissions), envs: envs && [...envs], permissions: each };
}

/** What is said of a new operator. */
export interface OperatorFields {
  name: string;
  role: Role;
  /** The envs that the token is limited to; null for all. */
  envs: string[] | null;
}

/** An operator as its row says. */
interface OperatorAccount extends OperatorFields {
  id: string;
}

/** An operator as the API tells it. */
export interface OperatorView extends OperatorAccount {
  /** RFC 3339. */
  created_at: string;
  last_used_at: string | null;
}

/** Operators whose tokens are valid, by name. */
export async function listOperators({ store }: Dependencies): Promise<OperatorView[]> {
  const rows = await selectOperators(store);
  return rows.map((row) => {
    const last_used_at = row.last_used_at === null ? null : toTime(row.last_used_at);
    return { ...accountOf(row), created_at: toTime(row.created_at), last_used_at };
  });
}

/** Creates an operator; the token is in the answer only. Throws 404 for an unknown env, 409 for a name that is taken. */
export async function createOperator(
  deps: Dependencies,
  { caller, fields }: { caller: AuditCaller; fields: OperatorFields },
): Promise<OperatorAccount & { token: string }> {
  const { name, envs } = fields;
  const { row, token } = newOperator(fields, deps.clock());
  await deps.store.transaction().execute(async (work) => {
    for (const env of envs ?? []) if ((await findEnv(work, env)) === null) throw notFound('env');
    if (name === SERVICE_ACTOR || !(await addOperator(work, row)))
      throw refusal('OPERATOR_EXISTS', 'the name is taken');
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${row.id} ${name}`, env: null }));
  });
  return { ...accountOf(row), token };
}

/** The row of a new operator, and the token, which the row does not have. */
export function newOperator({ name, role, envs }: OperatorFields, now: number): { row: OperatorRow; token: string } {
  const token = newOperatorToken();
  const row = {
    id: randomUUID(),
    name,
    role,
    envs: envs && JSON.stringify(envs),
    token_sha256: digestOfToken(token) ?? '',
    created_at: now,
    revoked_at: null,
    last_used_at: null,
  };
  return { row, token };
}

/** Revokes the token of an operator at once; throws 404, and 409 for the last administrator of all envs. */
export async function revokeOperator(
  deps: Dependencies,
  { caller, id }: { caller: AuditCaller; id: string },
): Promise<void> {
  await deps.store.transaction().execute(async (work) => {
    const admins = await lockAdmins(work);
    if (admins.length === 1 && admins[0]?.id === id) {
      throw refusal('LAST_ADMIN', 'nobody could administer the service without this token');
    }
    const revoked = await revoke(work, id, deps.clock());
    if (revoked === null) throw notFound('operator');
    await addAuditEntry(work, auditEntry(deps, caller, { target: `${id} ${revoked.name}`, env: null }));
  });
}

function refusal(code: string, message: string): ApiError {
  return new ApiError({ status: 409, code, message });
}

function accountOf({ id, name, role, envs }: OperatorRow): OperatorAccount {
  return { id, name, role, envs: envs === null ? null : (JSON.parse(envs) as string[]) };
}

/** A store that cannot be written is no reason to refuse a call that reads. */
async function keepUse({ store, clock, log }: Dependencies, { id, name, last_used_at }: OperatorRow): Promise<void> {
  const now = clock();
  if (last_used_at !== null && now < last_used_at + USE_KEPT_MS) return;
  await recordOperatorUse(store, id, now).catch((error: unknown) =>
    log('warn', `the last use of the token of ${name} could not be kept: ${String(error)}`),
  );
}
