import { randomUUID } from 'node:crypto';
import { newRollout } from '../../../../machines/rollout.ts';
import { planFault } from '../../rules/rollout/planFault.ts';
import { completeWaves } from '../../rules/rollout/wave.ts';
import { addAuditEntry } from '../../store/audit.ts';
import type { RolloutPlan, RolloutRow } from '../../store/rolloutTable.ts';
import type { Store } from '../../store/openStore.ts';
import { findWebhook } from '../../store/webhooks.ts';
import { insertRollout, listRollouts } from '../../store/rollouts.ts';
import { ApiError, conflict } from '../apiError.ts';
import { auditEntry } from '../audit.ts';
import { lockPromotable } from '../bundles/lockPromotable.ts';
import type { Dependencies } from '../dependencies.ts';
import type { AuditCaller } from '../operator.ts';
import { countProgress } from './rolloutEvent.ts';
import { rolloutView, type RolloutView } from './rolloutViews.ts';

/** A rollout that an operator asks for. */
export interface NewRollout {
  caller: AuditCaller;
  env: string;
  sha256: string;
  plan: RolloutPlan;
}

/**
 * Starts the rollout of a bundle in its env; the background work goes on with it. Throws as `lockPromotable`, 409
 * `ALREADY_DESIRED`, and 422 `ROLLOUT_INVALID`.
 */
export async function startRollout(
  deps: Dependencies,
  { caller, env, sha256, plan }: NewRollout,
): Promise<RolloutView> {
  requireValid(plan);
  const now = deps.clock();
  return deps.store.transaction().execute(async (work) => {
    const { desired_sha } = await lockPromotable(work, { env, sha256 });
    await requireGate(work, env, plan);
    if (desired_sha === sha256) {
      throw conflict({ code: 'ALREADY_DESIRED', message: 'the bundle is desired of every host of the env', env });
    }
    const waves = completeWaves(plan.waves);
    const { state, started } = newRollout({ waves: waves.length, isGated: plan.gate !== 'none' });
    const [newest] = await listRollouts(work, env, 1);
    const row: RolloutRow = {
      ...{
        id: randomUUID(),
        env,
        sha256,
        previous_sha: desired_sha,
        state,
        state_since: now,
        started,
        halted_by: null,
      },
      ...{ plan: JSON.stringify({ ...plan, waves }), progress: '', created_by: caller.actor },
      ...{ gate_due_at: null, gate_tries: 0, gate_reason: null },
      // Newer than any other, though a clock may have gone back.
      created_at: Math.max(now, (newest?.created_at ?? 0) + 1),
    };
    const progress = JSON.stringify(await countProgress(deps, work, row));
    await insertRollout(work, { ...row, progress });
    await addAuditEntry(work, auditEntry(deps, caller, { target: sha256, env }));
    return rolloutView({ ...row, progress }, now);
  });
}

function requireValid(plan: RolloutPlan): void {
  const fault = planFault(plan);
  if (fault !== null) throw invalid(fault);
}

/** A gate is asked of a webhook of the env, or of all envs, that gets messages as they are. */
async function requireGate(work: Store, env: string, { gate_webhook: id }: RolloutPlan): Promise<void> {
  if (id === undefined) return;
  const webhook = await findWebhook(work, id);
  if (webhook === null || (webhook.env ?? env) !== env) throw invalid(`the env has no webhook ${id}`);
  if (webhook.format !== 'standard')
    throw invalid(`the webhook has the format ${webhook.format}: a gate needs standard`);
}

function invalid(message: string): ApiError {
  return new ApiError({ status: 422, code: 'ROLLOUT_INVALID', message });
}
