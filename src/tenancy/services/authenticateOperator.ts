import { digestOfToken } from '../credentials/operatorToken.ts';
import { leastRole, visibleEnvs } from '../rules/permission.ts';
import { addAuditEntry } from '../store/audit.ts';
import type { OperatorRow } from '../store/database.ts';
import { envsOf, findOperator, recordOperatorUse } from '../store/operators.ts';
import { auditEntry } from './audit.ts';
import type { Dependencies } from './dependencies.ts';
import type { Operator } from './operator.ts';

/** The last use of a token is kept once in so many milliseconds. */
const USE_KEPT_MS = 60_000;

/** A call that is about to be made with a token. */
export interface TokenUse {
  bearer: string;
  /** Method and route, such as `GET /v1/envs/:env`. */
  call: string;
  address: string;
  requestId: string;
}

/**
 * Finds the operator of a bearer by its digest, and keeps that it was used. A call by a token for emergencies is told in
 * the log and the audit log before anything is done; it fails where the latter cannot be written.
 */
export async function authenticateOperator(deps: Dependencies, use: TokenUse): Promise<Operator | null> {
  const digest = digestOfToken(use.bearer);
  const row = digest === null ? null : await findOperator(deps.store, digest, deps.clock());
  if (row === null) return null;
  if (row.break_glass === 1) await tellBreakGlass(deps, row, use);
  await keepUse(deps, row);
  const { id, name, role, envs } = row;
  return { id, name, permissions: [{ role, envs: envsOf(envs) }] };
}

/** A caller as the API returns it: its role is the one that it has in every one of its envs at least. */
export function viewCaller({ name, permissions }: Operator) {
  const envs = visibleEnvs(permissions);
  const each = permissions.map(({ role, envs: only }) => ({ role, envs: only && [...only] }));
  return { name, role: leastRole(permissions), envs: envs && [...envs], permissions: each };
}

async function tellBreakGlass(
  deps: Dependencies,
  { name }: OperatorRow,
  { call, address, requestId }: TokenUse,
): Promise<void> {
  deps.log('warn', `the break-glass token of ${name} is used: ${call}`, { request_id: requestId, address });
  const caller = { actor: name, act: 'operator.breakGlass', address, requestId };
  await addAuditEntry(deps.store, auditEntry(deps, caller, { target: call, env: null }));
}

/** A store that cannot be written is no reason to refuse a call that reads. */
async function keepUse({ store, clock, log }: Dependencies, { id, name, last_used_at }: OperatorRow): Promise<void> {
  const now = clock();
  if (last_used_at !== null && now < last_used_at + USE_KEPT_MS) return;
  await recordOperatorUse(store, id, now).catch((error: unknown) =>
    log('warn', `the last use of the token of ${name} could not be kept: ${String(error)}`),
  );
}
