import type { GateQuestion } from '../../../protocol/webhooks.ts';
import type { BundleRow } from '../../store/database.ts';
import type { RolloutPlan, RolloutProgress, RolloutRow } from '../../store/rolloutTable.ts';
import { failuresOf } from '../rollout/progress.ts';
import { bundleOf } from './event.ts';

/** The question that a rollout asks at its gate; the bundle is null if there is no such one. */
export function gateQuestion(row: RolloutRow, bundle: BundleRow | null): GateQuestion {
  const { id, env, started: wave, state_since } = row;
  const { waves } = JSON.parse(row.plan) as RolloutPlan;
  const failures = failuresOf(JSON.parse(row.progress) as RolloutProgress);
  return {
    type: 'rollout.gate',
    timestamp: new Date(state_since).toISOString(),
    data: { env, bundle: bundle && bundleOf(bundle), rollout: { id, wave, waves: waves.length, failures } },
  };
}

/** The id of the message: the same at each try at one gate, another one at the next or after a resume. */
export function gateMessageId({ id, started, state_since }: RolloutRow): string {
  return `msg_${id}_${started}_${state_since}`;
}
