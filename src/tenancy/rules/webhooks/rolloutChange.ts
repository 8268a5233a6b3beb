import type { RolloutEvent } from '../../../../machines/rollout.ts';
import type { EventType } from '../../../protocol/webhooks.ts';

/** What operators are told of an event of a rollout; null for nothing, as of the halt that an abort begins with. */
export function eventOfRollout(event: RolloutEvent): EventType | null {
  if (event.type === 'HALT') return event.by === 'abort' ? null : 'rollout.halted';
  if (event.type === 'RESUME') return 'rollout.resumed';
  return event.type === 'ABORT' ? 'rollout.aborted' : null;
}
