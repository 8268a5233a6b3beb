import type { RolloutEvent, RolloutRecord } from '../../../../machines/rollout.ts';
import { isOpen } from '../../../protocol/timeWindow.ts';
import type { RolloutPlan, RolloutProgress } from '../../store/rolloutTable.ts';
import { failuresOf, isSuccessful } from './progress.ts';

/** A rollout as it is looked at; times in milliseconds since 1970. */
export interface RolloutSituation {
  record: RolloutRecord;
  plan: RolloutPlan;
  progress: RolloutProgress;
  /** Since when it is in its state. */
  stateSince: number;
  now: number;
  /** When the service started. */
  startedAt: number;
  /** Milliseconds after which a silent host counts as offline. */
  silenceMs: number;
}

/** What happens next to a rollout by itself; null for nothing. */
export function nextEvent(situation: RolloutSituation): RolloutEvent | null {
  const { record, plan, progress, now } = situation;
  const isRunning = record.state !== 'halted' && record.state !== 'done' && record.state !== 'aborted';
  if (isRunning && failuresOf(progress) > plan.max_failures) return { type: 'HALT', by: 'failures' };
  if (record.state === 'pending') return isOpen(plan.windows, now) ? { type: 'START_WAVE' } : null;
  if (record.state === 'updating') return eventOfWave(situation);
  if (record.state === 'soaking') return now >= endOfSoak(situation) ? { type: 'END_SOAK' } : null;
  return null;
}

/** After an outage of the service its hosts come back first: meanwhile none could tell a failure. */
function endOfSoak({ plan, stateSince, startedAt, silenceMs }: RolloutSituation): number {
  const end = stateSince + plan.soak_s * 1000;
  return stateSince < startedAt ? Math.max(end, startedAt + silenceMs) : end;
}

function eventOfWave({ record, plan, progress }: RolloutSituation): RolloutEvent | null {
  const wave = progress.waves[record.started - 1];
  if (wave === undefined || wave.hosts === 0) return { type: 'SKIP_WAVE' };
  return isSuccessful(progress, wave, plan.max_failures) ? { type: 'COMPLETE_WAVE' } : null;
}
