import { addAuditEntry } from '../store/audit.ts';
import { createBackend as insertBackend, findBackend, setLabels, type BackendFields } from '../store/backends.ts';
import type { Labels } from '../store/columns.ts';
import type { BackendRow, Place } from '../store/database.ts';
import { lockEnv } from '../store/envs.ts';
import { areSecretsDoomed, listPendingSteps } from '../store/pendingSteps.ts';
import { listReports as selectReports } from '../store/reports.ts';
import { listManagers } from '../store/swarms.ts';
import { notFound } from './apiError.ts';
import { auditEntry } from './audit.ts';
import { backendDetails, reportView, silenceLimits, type BackendDetails, type ReportView } from './backendViews.ts';
import type { Dependencies } from './dependencies.ts';
import { readDesired } from './desired.ts';
import { secretsPending } from './envs.ts';
import type { AuditCaller, Operator } from './operator.ts';
import { toPage } from './page.ts';
import { requirePermission } from './requirePermission.ts';

/** A backend that an operator asks for. */
export interface BackendCall {
  operator: Operator;
  id: string;
}

/** The row of a backend; throws 404, and 403 if the operator's token is not for its env. */
export async function requireBackend({ store }: Dependencies, { operator, id }: BackendCall): Promise<BackendRow> {
  const row = await findBackend(store, id);
  if (row === null) throw notFound('backend');
  requirePermission(operator, { role: 'viewer', env: row.env });
  return row;
}

/** One backend with its newest report; throws 404. */
export async function readBackend(deps: Dependencies, call: BackendCall): Promise<BackendDetails> {
  const { store } = deps;
  const row = await requireBackend(deps, call);
  const [desired, pending, [newest], managers] = await Promise.all([
    readDesired(store, [row.env]),
    listPendingSteps(store, row.id),
    selectReports(store, row.id, { limit: 1 }),
    listManagers(store, row),
  ]);
  const facts = { desiredSha: desired.of(row), limits: silenceLimits(deps), pending, newest: newest ?? null, managers };
  return backendDetails(row, facts);
}

/** Creates a backend; throws 404 without its env, 409 while the secrets of its env are destroyed. */
export async function createBackend(
  deps: Dependencies,
  { operator, caller, fields }: { operator: Operator; caller: AuditCaller; fields: BackendFields },
): Promise<BackendDetails> {
  const { env } = fields;
  const id = await deps.store.transaction().execute(async (work) => {
    if ((await lockEnv(work, env)) === null) throw notFound('env');
    if (await areSecretsDoomed(work, env)) throw secretsPending(env);
    const created = await insertBackend(work, fields, deps.clock());
    await addAuditEntry(work, auditEntry(deps, caller, { target: created, env }));
    return created;
  });
  return readBackend(deps, { operator, id });
}

/** Replaces the labels of a backend; throws 404. The waves of rollouts choose backends by them. */
export async function labelBackend(
  deps: Dependencies,
  { caller, labels, ...call }: BackendCall & { caller: AuditCaller; labels: Labels },
): Promise<BackendDetails> {
  const row = await requireBackend(deps, call);
  await deps.store.transaction().execute(async (work) => {
    await setLabels(work, row, labels);
    await addAuditEntry(work, auditEntry(deps, caller, { target: row.id, env: row.env }));
  });
  return readBackend(deps, call);
}

/** A page of the reports of a backend, newest first. */
export async function listReports(
  deps: Dependencies,
  { before, limit, ...call }: BackendCall & { before?: Place | undefined; limit: number },
): Promise<{ reports: ReportView[]; last: Place | null }> {
  const { id } = await requireBackend(deps, call);
  const { items, last } = toPage(await selectReports(deps.store, id, { before, limit: limit + 1 }), limit);
  const place = last && { time: last.receivedAt, id: last.report.report_id };
  return { reports: items.map(reportView), last: place };
}
