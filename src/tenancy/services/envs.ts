import { addAuditEntry } from '../store/audit.ts';
import {
  countBackends,
  createEnv as insertEnv,
  lockEnv,
  markEnvDeleted,
  reserveSequence as takeSequence,
  setDesiredSha,
} from '../store/envs.ts';
import { addPendingSteps, areSecretsDoomed } from '../store/pendingSteps.ts';
import { conflict, notFound } from './apiError.ts';
import { auditEntry } from './audit.ts';
import { lockPromotable, requireNoRollout } from './bundles/lockPromotable.ts';
import type { Dependencies } from './dependencies.ts';
import { readEnv, type EnvDetails } from './envViews.ts';
import type { AuditCaller } from './operator.ts';

/** What an act on an env needs to know. */
export interface EnvAct {
  caller: AuditCaller;
  env: string;
}

/** Creates an env; throws 409 `ENV_EXISTS`, or `SECRETS_PENDING` while those of a deleted one are destroyed. */
export async function createEnv(
  deps: Dependencies,
  { caller, env, production }: EnvAct & { production: boolean },
): Promise<EnvDetails> {
  await deps.store.transaction().execute(async (work) => {
    if (!(await insertEnv(work, env, production))) {
      throw conflict({ code: 'ENV_EXISTS', message: 'there is an env of this name', env });
    }
    if (await areSecretsDoomed(work, env)) throw secretsPending(env);
    await addAuditEntry(work, auditEntry(deps, caller, { target: env, env }));
  });
  return readEnv(deps, env);
}

/** Deletes an env and destroys its secrets; throws 404, and 409 while it has a rollout or backends that are not retired. */
export async function deleteEnv(deps: Dependencies, { caller, env }: EnvAct): Promise<void> {
  const now = deps.clock();
  await deps.store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    if (row === null) throw notFound('env');
    requireNoRollout(row);
    const inUse = (await countBackends(work, [env])).filter(({ state }) => state !== 'retired');
    if (inUse.length > 0) {
      const message = `it has ${inUse.map(({ state, backends }) => `${backends} ${state}`).join(', ')} backends`;
      throw conflict({ code: 'ENV_IN_USE', message, env });
    }
    await markEnvDeleted(work, env, now);
    await addPendingSteps(work, env, { steps: ['destroyEnvSecrets'], dueAt: now });
    await addAuditEntry(work, auditEntry(deps, caller, { target: env, env }));
  });
}

/** Makes a bundle, or none, the desired one of an env; throws as `lockPromotable`. */
export async function setDesired(
  deps: Dependencies,
  { caller, env, sha256 }: EnvAct & { sha256: string | null },
): Promise<EnvDetails> {
  await deps.store.transaction().execute(async (work) => {
    await lockPromotable(work, { env, sha256 });
    await setDesiredSha(work, env, sha256);
    await addAuditEntry(work, auditEntry(deps, caller, { target: sha256 ?? 'none', env }));
  });
  return readEnv(deps, env);
}

/** Reserves the next sequence for a bundle of an env; throws 404. */
export async function reserveSequence(deps: Dependencies, { caller, env }: EnvAct): Promise<number> {
  return deps.store.transaction().execute(async (work) => {
    const sequence = await takeSequence(work, env);
    if (sequence === null) throw notFound('env');
    await addAuditEntry(work, auditEntry(deps, caller, { target: String(sequence), env }));
    return sequence;
  });
}

/** The refusal of what would share its fate with secrets that are about to be destroyed. */
export function secretsPending(env: string) {
  const message = 'the secrets of this env are being destroyed; try again when that is done';
  return conflict({ code: 'SECRETS_PENDING', message, env });
}
