import type { RolloutEvent } from '../../../machines/rollout.ts';
import { eventOfRollout } from './rollout.rules.ts';

it.each<[RolloutEvent, string | null]>([
  [{ type: 'HALT', by: 'failures' }, 'rollout.halted'],
  [{ type: 'HALT', by: 'abort' }, null],
  [{ type: 'RESUME' }, 'rollout.resumed'],
  [{ type: 'ABORT' }, 'rollout.aborted'],
  [{ type: 'START_WAVE' }, null],
])('of %j operators are told %s', (event, told) => {
  expect(eventOfRollout(event)).toBe(told);
});
