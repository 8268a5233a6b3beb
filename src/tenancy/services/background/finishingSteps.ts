import type { FinishingStep } from '../../../../machines/backend.ts';
import { addAuditEntry } from '../../store/audit.ts';
import { changeBackend, findBackend } from '../../store/backends.ts';
import type { BackendRow } from '../../store/database.ts';
import { lockEnv, lockEnvRow } from '../../store/envs.ts';
import { hasOtherBackends } from '../../store/pendingSteps.ts';
import { auditEntry, byService } from '../audit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { StepCall } from './stepCall.ts';

/** Revokes the newest token that a retired backend has come with. */
export async function revokeToken(deps: Dependencies, call: StepCall): Promise<void> {
  const { token_accessor } = await retiredBackend(deps, call);
  if (token_accessor !== null) await deps.secretstore.revokeToken(token_accessor);
  await finishBackendStep(deps, call, { step: 'revokeToken', isDone: token_accessor !== null });
}

/** Deletes the mesh identity of a retired backend. */
export async function deleteIdentity(deps: Dependencies, call: StepCall): Promise<void> {
  const { mesh } = deps;
  const { mesh_identity } = await retiredBackend(deps, call);
  const isDone = mesh !== null && mesh_identity !== null;
  if (isDone) await mesh.deleteIdentity(mesh_identity);
  await finishBackendStep(deps, call, { step: 'deleteIdentity', isDone });
}

/** Destroys the secrets of the env of a retired backend, unless the env has other backends. */
export async function destroySecrets(deps: Dependencies, call: StepCall): Promise<void> {
  const { env } = await retiredBackend(deps, call);
  // Whoever creates a backend locks the env too, and then finds this step pending.
  const isDone = await deps.store.transaction().execute(async (work) => {
    return (await lockEnv(work, env)) !== null && !(await hasOtherBackends(work, env));
  });
  if (isDone) await deps.secretstore.destroySecrets(env, call.signal);
  await finishBackendStep(deps, call, { step: 'destroySecrets', isDone });
}

/** Destroys the secrets of an env that is deleted. */
export async function destroyEnvSecrets(deps: Dependencies, call: StepCall): Promise<void> {
  const env = call.subject;
  const row = await deps.store.transaction().execute((work) => lockEnvRow(work, env));
  const isDone = row !== null && row.deleted_at !== null;
  if (isDone) await deps.secretstore.destroySecrets(env, call.signal);
  const entry = auditEntry(deps, byService('env.destroySecrets'), { target: env, env });
  await call.finish(async (work) => {
    if (isDone) await addAuditEntry(work, entry);
  });
}

async function retiredBackend({ store }: Dependencies, { subject }: StepCall): Promise<BackendRow> {
  const row = await findBackend(store, subject);
  if (row === null) throw new Error(`there is no backend ${subject}`);
  return row;
}

/** The machine counts the step; the audit log tells of it if there was something to do. */
async function finishBackendStep(
  deps: Dependencies,
  { subject, finish }: StepCall,
  { step, isDone }: { step: FinishingStep; isDone: boolean },
): Promise<void> {
  await finish(async (work) => {
    const change = { event: { type: 'FINISH_STEP', step }, now: deps.clock() } as const;
    const row = await changeBackend(work, subject, change);
    if (row === null || !isDone) return;
    await addAuditEntry(work, auditEntry(deps, byService(`backend.${step}`), { target: subject, env: row.env }));
  });
}
