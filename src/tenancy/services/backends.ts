import type { BackendState } from '../../../machines/backend.ts';
import { visibleEnvs } from '../rules/permission.ts';
import { desiredShaOf } from '../rules/rollout/desiredSha.ts';
import { addAuditEntry } from '../store/audit.ts';
import {
  createBackend as insertBackend,
  findBackend,
  listBackends as selectBackends,
  setLabels,
  type BackendFields,
} from '../store/backends.ts';
import type { Labels } from '../store/columns.ts';
import type { BackendRow, Place } from '../store/database.ts';
import { listEnvs, lockEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { areSecretsDoomed, listPendingSteps } from '../store/pendingSteps.ts';
import { listReports as selectReports } from '../store/reports.ts';
import { listActiveRollouts } from '../store/rollouts.ts';
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
  const desired = await findDesired(store, envs);
  return { backends: items.map((row) => backendView(row, desired(row))), next: last?.id ?? null };
}

/** One backend with its newest report; throws 404. */
export async function readBackend(deps: Dependencies, call: BackendCall): Promise<BackendDetails> {
  const { store } = deps;
  const row = await requireBackend(deps, call);
  const [desired, pending, [newest]] = await Promise.all([
    findDesired(store, [row.env]),
    listPendingSteps(store, row.id),
    selectReports(store, row.id, { limit: 1 }),
  ]);
  return {
    ...backendView(row, desired(row)),
    pending_steps: pending.map(({ step, tries, error }) => ({ step, tries, error })),
    last_report: newest === undefined ? null : reportView(newest),
  };
}

/** Reads what is desired in some envs, or in all (null); tells what is desired of a backend of them. */
async function findDesired(
  store: Store,
  names: readonly string[] | null,
): Promise<(backend: BackendRow) => string | null> {
  const envs = new Map((await listEnvs(store, names)).map((env) => [env.name, env.desired_sha]));
  const rollouts = new Map((await listActiveRollouts(store, names)).map((rollout) => [rollout.id, rollout]));
  return ({ env, rollout_id, applied_sha: appliedSha }) => {
    const joined = rollouts.get(rollout_id ?? '') ?? null;
    return desiredShaOf({ envSha: envs.get(env) ?? null, joined, appliedSha });
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

/** Replaces the labels of a backend; throws 404. The waves of rollouts choose backends by them. */
export async function labelBackend(
  deps: Dependencies,
  { caller, labels, ...call }: BackendCall & { caller: AuditCaller; labels: Labels },
): Promise<BackendDetails> {
  const { id, env } = await requireBackend(deps, call);
  await deps.store.transaction().execute(async (work) => {
    await setLabels(work, id, labels);
    await addAuditEntry(work, auditEntry(deps, caller, { target: id, env }));
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
