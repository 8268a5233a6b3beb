import { eventOfGate, verdictOf, type GateVerdict } from '../../rules/rollout/gateAnswer.ts';
import { gateMessageId, gateQuestion } from '../../rules/webhooks/gateQuestion.ts';
import { retryDelayMs } from '../../rules/webhooks/retryDelay.ts';
import { findBundle } from '../../store/bundles.ts';
import { lockEnv } from '../../store/envs.ts';
import { settleGate } from '../../store/rolloutGates.ts';
import { findRollout } from '../../store/rollouts.ts';
import type { RolloutPlan, RolloutRow } from '../../store/rolloutTable.ts';
import { findWebhook } from '../../store/webhooks.ts';
import { byService } from '../audit.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendQuestion } from '../webhooks/send.ts';
import { applyRolloutEvent } from './rolloutEvent.ts';

/** What came of asking: a verdict, or why there is none. */
interface Reply {
  verdict: GateVerdict | null;
  reason: string | null;
  retryAfterS: number;
}

/**
 * Asks the webhook of a claimed gate once. A verdict lets the rollout pass or halts it; without one the webhook is asked
 * again, with growing pauses, and the rollout is halted after `webhooks.give_up_after_s`.
 */
export async function askGate(deps: Dependencies, claimed: RolloutRow, signal: AbortSignal): Promise<void> {
  const reply = await replyOf(deps, claimed, signal);
  const { verdict, reason } = reply;
  const now = deps.clock();
  if (verdict === null && signal.aborted) {
    // The service stops: nothing was learned of the endpoint.
    await settleGate(deps.store, claimed, { dueAt: now, reason: claimed.gate_reason });
    return;
  }
  const { webhooks } = deps.settings;
  const bounds = { random: Math.random(), retryAfterS: reply.retryAfterS };
  const dueAt = now + Math.round(retryDelayMs(claimed.gate_tries, webhooks, bounds));
  const event = eventOfGate(verdict, dueAt > claimed.state_since + webhooks.give_up_after_s * 1000);
  if (event === null) logFailure(deps, claimed, reason);
  await deps.store.transaction().execute(async (work) => {
    await lockEnv(work, claimed.env);
    // An operator may have let it pass or halted it meanwhile.
    if (!(await settleGate(work, claimed, { dueAt, reason })) || event === null) return;
    const row = await findRollout(work, claimed.id);
    const act = event.type === 'HALT' ? 'rollout.halt' : 'rollout.pass';
    if (row !== null) await applyRolloutEvent(deps, work, { row, event, caller: byService(act) });
  });
}

async function replyOf(deps: Dependencies, row: RolloutRow, signal: AbortSignal): Promise<Reply> {
  const { gate_webhook: webhookId = '' } = JSON.parse(row.plan) as RolloutPlan;
  const webhook = await findWebhook(deps.store, webhookId);
  if (webhook === null) {
    const reason = 'its webhook is not there any more';
    return { verdict: { pass: false, reason }, reason, retryAfterS: 0 };
  }
  const question = gateQuestion(row, await findBundle(deps.store, row.sha256));
  const { error, retryAfterS, body } = await sendQuestion(deps, webhook, { id: gateMessageId(row), question, signal });
  const verdict = error === null ? verdictOf(body) : null;
  if (verdict !== null) return { verdict, reason: verdict.reason, retryAfterS };
  return { verdict, reason: error ?? 'the endpoint answered without a verdict', retryAfterS };
}

function logFailure({ log }: Dependencies, { id, env, gate_reason }: RolloutRow, reason: string | null): void {
  if (reason !== gate_reason) log('warn', `a gate has no answer: ${reason}`, { rollout: id, env });
}
