import type { AuditRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry, type AuditEntry, type AuditFilter, listAuditEntries } from '../store/people.ts';
import { type AuditCaller, type Operator, type RefusedAct, visibleEnvs } from './permission.rules.ts';
import { toPage } from './lists.rules.ts';

/** Dependencies of the audit log. */
export interface AuditDependencies {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Name of the service itself in the audit log, which no operator can have. */
export const SERVICE_ACTOR = 'deployd-tenancy';

/** Prefix of the names of signed-in people in the audit log, which no operator's name can have. */
const PERSON_PREFIX = 'oidc:';

/** The name of a signed-in person in the audit log. */
export function personActor(name: string): string {
  return PERSON_PREFIX + name;
}

/** True for a name in the audit log that no operator may have. */
export function isReservedActor(name: string): boolean {
  return name === SERVICE_ACTOR || name.startsWith(PERSON_PREFIX);
}

/** The audit entry of a successful action. */
export function auditEntry(
  { clock }: { clock: () => number },
  { actor, act, address, requestId }: AuditCaller,
  { target, env }: { target: string; env: string | null },
): AuditEntry {
  return { at: clock(), actor, act, target, env, address, request_id: requestId, result: 'ok' };
}

/** The caller for actions of the service itself. */
export function byService(act: string): AuditCaller {
  return { actor: SERVICE_ACTOR, act, address: null, requestId: null };
}

/** Adds a refused action to the audit log. */
export async function recordRefusedAct(
  deps: AuditDependencies,
  { target, env, result, ...caller }: RefusedAct,
): Promise<void> {
  await addAuditEntry(deps.store, { ...auditEntry(deps, caller, { target, env }), result });
}

/** An entry of the audit log as the API returns it. */
export interface AuditView extends Omit<AuditRow, 'at'> {
  /** RFC 3339. */
  at: string;
}

/** A page of the audit log, newest first, of the environments that the operator may see. */
export async function listAudit(
  { store }: { store: Store },
  { operator, env, ...filter }: { operator: Operator; env?: string } & Omit<AuditFilter, 'envs'>,
): Promise<{ entries: AuditView[]; next: number | null }> {
  const envs = env === undefined ? visibleEnvs(operator.permissions) : [env];
  const rows = await listAuditEntries(store, { ...filter, envs, limit: filter.limit + 1 });
  const { items, last } = toPage(rows, filter.limit);
  const entries = items.map(({ at, ...entry }) => ({ ...entry, at: new Date(at).toISOString() }));
  return { entries, next: last?.id ?? null };
}
