import type { BackendState } from '../../../machines/backend.ts';
import { visibleEnvs } from '../rules/permission.ts';
import { addAuditEntry } from '../store/audit.ts';
import {
  createBackend as insertBackend,
  findBackend,
  listBackends as selectBackends,
  type BackendFields,
} from '../store/backends.ts';
import type { BackendRow, Place } from '../store/database.ts';
import { findEnv, listEnvs, lockEnv } from '../store/envs.ts';
import { areSecretsDoomed, listPendingSteps } from '../store/pendingSteps.ts';
import { listReports as selectReports } from '../store/reports.ts';
import { notFound } from './apiError.ts';
import { auditEntry } from './audit.ts';
import { backendView, reportView, type BackendDetails, type BackendView, type ReportView } from './backendViews.ts';
import type { Dependencies } from './dependencies.ts';
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

/** Which backends a list shows. */
export interface BackendsQuery {
  operator: Operator;
  env?: string;
  state?: BackendState;
  after?: string;
  limit: number;
}

/** A page of the backends of the envs that an operator may see, by id. */
export async function listBackends(
  { store }: Dependencies,
  { operator, env, limit, ...filter }: BackendsQuery,
): Promise<{ backends: BackendView[]; next: string | null }> {
  const envs = env === undefined ? visibleEnvs(operator.permissions) : [env];
  const rows = await selectBackends(store, { ...filter, envs, limit: limit + 1 });
  const { items, last } = toPage(rows, limit);
  const desired = new Map((await listEnvs(store, envs)).map(({ name, desired_sha }) => [name, desired_sha]));
  return { backends: items.map((row) => backendView(row, desired.get(row.env) ?? null)), next: last?.id ?? null };
}

/** One backend with its newest report; throws 404. */
export async function readBackend(deps: Dependencies, call: BackendCall): Promise<BackendDetails> {
  const { store } = deps;
  const row = await requireBackend(deps, call);
  const [env, pending, [newest]] = await Promise.all([
    findEnv(store, row.env),
    listPendingSteps(store, row.id),
    selectReports(store, row.id, { limit: 1 }),
  ]);
  return {
    ...backendView(row, env?.desired_sha ?? null),
    pending_steps: pending.map(({ step, tries, error }) => ({ step, tries, error })),
    last_report: newest === undefined ? null : reportView(newest),
  };
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
